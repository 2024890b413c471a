import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { msOf } from "@/design/format";
import { nameOf } from "@/entities/run/listed";
import type { Sort } from "./search";

const created = (run: Run): number => msOf(run.action?.status?.startTime) ?? 0;

/** A list of runs, as far as it is loaded. */
export interface Loaded {
  readonly runs: readonly Run[];
  readonly more: boolean;
}

/**
 * Two lists in one order. What may still be preceded by runs that are not loaded yet is left out: everything after the last run of
 * a list that has more.
 */
export function joined(one: Loaded, other: Loaded, order: (a: Run, b: Run) => number): readonly Run[] {
  if (other.runs.length === 0 && !other.more) return one.runs;
  if (one.runs.length === 0 && !one.more) return other.runs;
  const ends = [one, other].flatMap(({ runs, more }) => (more ? runs.slice(-1) : []));
  return [...one.runs, ...other.runs].sort(order).filter((run) => ends.every((end) => order(run, end) <= 0));
}

const duration = (run: Run): number => Number(run.action?.status?.durationMs ?? -1n);
const changed = (run: Run): number => msOf(run.action?.status?.endTime) ?? created(run);

/** The orders of lists. The time of the last update is not in the list; the end is the best estimate. */
export const orderOf: Readonly<Record<Sort, (a: Run, b: Run) => number>> = {
  newest: (a, b) => created(b) - created(a),
  oldest: (a, b) => created(a) - created(b),
  updated: (a, b) => changed(b) - changed(a),
  longest: (a, b) => duration(b) - duration(a),
  shortest: (a, b) => duration(a) - duration(b),
};

/** The listed runs with their updates; runs are neither added nor removed. */
export function refreshed(pages: readonly Run[], updates: ReadonlyMap<string, Run>): readonly Run[] {
  return updates.size === 0 ? pages : pages.map((run) => updates.get(nameOf(run)) ?? run);
}

/**
 * The newest runs with their updates: runs that no longer match are removed, and new ones are added. A run older than the last
 * loaded page is left to its own page, unless there are no more pages.
 */
export function merged(pages: readonly Run[], more: boolean, updates: ReadonlyMap<string, Run>, matches: (run: Run) => boolean): readonly Run[] {
  if (updates.size === 0) return pages;
  const oldest = more ? Math.min(...pages.slice(-1).map(created)) : -Infinity;
  const pending = new Map(updates);
  const result: Run[] = [];
  for (const run of pages) {
    const name = nameOf(run);
    const latest = pending.get(name);
    pending.delete(name);
    if (latest === undefined) result.push(run);
    else if (matches(latest)) result.push(latest);
  }
  const before = result.length;
  for (const run of pending.values()) {
    if (created(run) > oldest && matches(run)) result.push(run);
  }
  // The listed runs are sorted already; sort only if runs were added.
  return result.length === before ? result : result.sort((a, b) => created(b) - created(a));
}
