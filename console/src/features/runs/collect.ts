import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { listRequest, runsRequest } from "./request";
import { patched, type RunsSearch } from "./search";

/** A bulk action includes at most this many runs, to limit the damage of a mistake. */
export const maxRuns = 10_000;

const pageSize = 200;

/** All runs that match a search now, at most maxRuns. Runs that are created later are left out. */
export async function collectRuns(place: Place, search: RunsSearch, onFound: (runs: number) => void, signal: AbortSignal): Promise<readonly Run[]> {
  const now = Date.now();
  const conditions = patched(search, { sort: undefined });
  const request = listRequest(conditions, now, pageSize);
  request.filters.push({
    $typeName: "flyteidl2.common.Filter",
    function: Filter_Function.LESS_THAN,
    field: "created_at",
    values: [new Date(now).toISOString()],
  });
  const runs: Run[] = [];
  for (;;) {
    const page = await client(RunService).listRuns(runsRequest(place, conditions, request), { signal });
    runs.push(...page.runs.slice(0, maxRuns - runs.length));
    onFound(runs.length);
    if (page.token === "" || runs.length >= maxRuns) return runs;
    request.token = page.token;
  }
}
