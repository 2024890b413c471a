import { keepPreviousData } from "@tanstack/react-query";
import { useQuery } from "@connectrpc/connect-query";
import { ProblemService } from "@gen/flytebinary/insight/v1/problems_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { Place } from "@/app/place";
import { isTracked, nameOf, phaseOf } from "@/entities/run/listed";

/** The most runs that one request may name. */
const most = 500;

const failed: readonly ActionPhase[] = [ActionPhase.FAILED, ActionPhase.TIMED_OUT];

/** The errors of the latest failed runs of a list, in a line each, by the name of the run. */
export function useErrors(place: Place, runs: readonly Run[]): Readonly<Record<string, string>> {
  const names = runs.filter((run) => !isTracked(run) && failed.includes(phaseOf(run))).map(nameOf);
  const { data } = useQuery(
    ProblemService.method.listRunErrors,
    { projectId: { name: place.project, domain: place.domain }, runs: names.slice(0, most) },
    { enabled: names.length > 0, staleTime: Infinity, placeholderData: keepPreviousData, retry: false },
  );
  return data?.errors ?? {};
}
