import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { listRequest, runsRequest } from "./request";
import { patched, type RunsSearch } from "./search";

/** More are not done to at once, so that a slip of the finger stays small. */
export const mostRuns = 10_000;

const pageSize = 200;

/** All runs that a search finds now, at most mostRuns of them; those that are made later are left out. */
export async function collectRuns(place: Place, search: RunsSearch, onFound: (runs: number) => void, signal: AbortSignal): Promise<readonly Run[]> {
  const now = Date.now();
  const conditions = patched(search, { sort: undefined });
  const request = listRequest(conditions, now, pageSize);
  request.filters.push({ $typeName: "flyteidl2.common.Filter", function: Filter_Function.LESS_THAN, field: "created_at", values: [new Date(now).toISOString()] });
  const runs: Run[] = [];
  for (;;) {
    const page = await client(RunService).listRuns(runsRequest(place, conditions, request), { signal });
    runs.push(...page.runs.slice(0, mostRuns - runs.length));
    onFound(runs.length);
    if (page.token === "" || runs.length >= mostRuns) return runs;
    request.token = page.token;
  }
}
