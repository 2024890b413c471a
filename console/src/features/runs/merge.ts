import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { msOf } from "@/design/format";
import { nameOf } from "./request";

const created = (run: Run): number => msOf(run.action?.status?.startTime) ?? 0;

/** Pages with what was heard of their runs since; nothing comes and nothing goes. */
export function refreshed(pages: readonly Run[], heard: ReadonlyMap<string, Run>): readonly Run[] {
  return heard.size === 0 ? pages : pages.map((run) => heard.get(nameOf(run)) ?? run);
}

/**
 * Pages of the newest runs with what was heard since: those that no longer match go, and new ones come. A run that is older
 * than the last page waits for its own page, unless there are no more.
 */
export function merged(pages: readonly Run[], more: boolean, heard: ReadonlyMap<string, Run>, matches: (run: Run) => boolean): readonly Run[] {
  if (heard.size === 0) return pages;
  const oldest = more ? Math.min(...pages.slice(-1).map(created)) : -Infinity;
  const rest = new Map(heard);
  const result: Run[] = [];
  for (const run of pages) {
    const name = nameOf(run);
    const latest = rest.get(name);
    rest.delete(name);
    if (latest === undefined) result.push(run);
    else if (matches(latest)) result.push(latest);
  }
  const before = result.length;
  for (const run of rest.values()) {
    if (created(run) > oldest && matches(run)) result.push(run);
  }
  // What was listed is in order; only what came has to find its place.
  return result.length === before ? result : result.sort((a, b) => created(b) - created(a));
}
