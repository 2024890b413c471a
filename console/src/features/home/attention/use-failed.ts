import { useQuery } from "@connectrpc/connect-query";
import { Filter_Function, Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { every, shown } from "./group";

const failures = [ActionPhase.FAILED, ActionPhase.TIMED_OUT].map(String);

/** The runs of all projects that failed since a time, in milliseconds; the last one first. Those of triggers are with their triggers. */
export function useFailed(since: number) {
  return useQuery(
    RunService.method.listRuns,
    {
      scopeBy: { case: "org", value: "flyte" },
      request: {
        limit: shown + 1,
        filters: [
          { field: "trigger_name", function: Filter_Function.EQUAL, values: [""] },
          { field: "phase", function: Filter_Function.VALUE_IN, values: failures },
          { field: "ended_at", function: Filter_Function.GREATER_THAN_OR_EQUAL, values: [new Date(since).toISOString()] },
        ],
        sortByFields: [{ key: "updated_at", direction: Sort_Direction.DESCENDING }],
      },
    },
    { refetchInterval: every, retry: false },
  );
}
