import { useQuery } from "@tanstack/react-query";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";

/** What the newest run of a task brought with it; null if there is no such run. Tasks that were never deployed have no other description. */
export function useSpecOfRuns({ project, domain }: Place, task: string, version: string | undefined, enabled: boolean) {
  const name = { org: "flyte", project, domain, name: task };
  return useQuery({
    queryKey: ["spec-of-runs", project, domain, task, version],
    enabled,
    queryFn: async ({ signal }): Promise<{ readonly run: string; readonly spec: TaskSpec } | null> => {
      const { runs } = await client(RunService).listRuns(
        {
          request: { limit: 1 },
          scopeBy: version === undefined ? { case: "taskName", value: name } : { case: "taskId", value: { ...name, version } },
        },
        { signal },
      );
      const id = runs[0]?.action?.id;
      if (id?.run === undefined) return null;
      const { details } = await client(RunService).getActionDetails({ actionId: id }, { signal });
      return details?.spec.case === "task" ? { run: id.run.name, spec: details.spec.value } : null;
    },
  });
}
