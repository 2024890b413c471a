import { durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { Filter_Function, Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { client } from "@/api/transport";
import { msOf } from "@/design/format";
import { every } from "./group";
import { enough, slowOf, taskOf, type Usual } from "./slow";

/** The runs that are looked at, and the tasks whose history is read. */
const most = { runs: 50, tasks: 10 };
const week = 7 * 24 * 3_600_000;

/** The running runs of all projects that take longer than nine of ten runs of their task in the last week. */
export function useSlow(now: number): readonly { readonly run: Run; readonly usual: number }[] {
  const running = useQuery(
    RunService.method.listRuns,
    {
      scopeBy: { case: "org", value: "flyte" },
      request: {
        limit: most.runs,
        filters: [{ field: "phase", function: Filter_Function.EQUAL, values: [String(ActionPhase.RUNNING)] }],
        sortByFields: [{ key: "created_at", direction: Sort_Direction.ASCENDING }],
      },
    },
    { refetchInterval: every, retry: false },
  );
  const runs = (running.data?.runs ?? []).filter((run) => now - (msOf(run.action?.status?.startTime) ?? now) > enough.ms);
  const tasks = [...new Map(runs.map((run) => [taskOf(run)?.key, taskOf(run)])).values()].filter((task) => task !== undefined).slice(0, most.tasks);
  const hour = Math.floor(now / 3_600_000) * 3_600_000; // the same request for an hour
  const usual = useQueries({
    queries: tasks.map(({ key, project, domain, name }) => ({
      queryKey: ["usual-duration", key, hour],
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<Usual> => {
        const { buckets } = await client(InsightService).getTaskHistory(
          { project, domain, name, since: timestampFromMs(hour - week), buckets: 1 },
          { signal },
        );
        const [all] = buckets;
        return { key, ended: all?.succeeded ?? 0, p90: all?.p90 ? durationMs(all.p90) : undefined };
      },
      staleTime: Infinity,
      retry: false,
    })),
    combine: (answers) => answers.flatMap(({ data }) => (data ? [data] : [])),
  });
  return slowOf(runs, usual, now);
}
