import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { Place } from "@/app/place";
import { also } from "@/entities/run/query/edit";
import { loadRuns } from "./request";
import type { RunsSearch } from "./search";

/** A bulk action includes at most this many runs, to limit the damage of a mistake. */
export const maxRuns = 10_000;

const pageSize = 200;

/** All runs that match a search now, at most maxRuns. Runs that are created later are left out. */
export async function collectRuns(place: Place, search: RunsSearch, onFound: (runs: number) => void, signal: AbortSignal): Promise<readonly Run[]> {
  const query = also(search.query ?? "", `created<${new Date().toISOString()}`);
  const runs: Run[] = [];
  for (let token = ""; ; ) {
    const page = await loadRuns(place, { query }, { limit: pageSize, token, tracked: false }, signal);
    runs.push(...page.runs.slice(0, maxRuns - runs.length));
    onFound(runs.length);
    if (page.token === "" || runs.length >= maxRuns) return runs;
    token = page.token;
  }
}
