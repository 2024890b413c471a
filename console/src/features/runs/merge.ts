import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { msOf } from "@/design/format";
import { nameOf } from "./request";

const created = (run: Run): number => msOf(run.action?.status?.startTime) ?? 0;

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
