import type { EnrichedAction } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { client } from "@/api/transport";
import { useWatch, type Watched } from "@/api/use-watch";
import type { RunName } from "../model/use-run-model";

/** The actions of a run by their names. */
export type Actions = ReadonlyMap<string, EnrichedAction>;

/** Follows all actions of a run. */
export function useActions({ project, domain, name }: RunName): Watched<Actions> {
  return useWatch(
    `${project}/${domain}/${name}`,
    (signal) => client(RunService).watchActions({ runId: { project, domain, name } }, { signal }),
    (actions: Map<string, EnrichedAction> | undefined, message) => {
      const next = actions ?? new Map<string, EnrichedAction>();
      for (const enriched of message.enrichedActions) next.set(enriched.action?.id?.name ?? "", enriched);
      return new Map(next);
    },
  );
}

export function countPhases(actions: Actions | undefined): ReadonlyMap<ActionPhase, number> {
  const counts = new Map<ActionPhase, number>();
  for (const { action } of actions?.values() ?? []) {
    const phase = action?.status?.phase ?? ActionPhase.UNSPECIFIED;
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  return counts;
}
