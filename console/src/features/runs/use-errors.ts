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

/** An empty line, as high as one with an error. */
const emptyLine = "\u00a0";

const hasError = (run: Run): boolean => !isTracked(run) && failed.includes(phaseOf(run));

/** The error of each failed run of a list, in a line; undefined for other runs. Until it is known the line is empty, so that rows do not grow. */
export function useErrors(place: Place, runs: readonly Run[]): (run: Run) => string | undefined {
  const names = runs.filter(hasError).map(nameOf);
  const { data, isFetching } = useQuery(
    ProblemService.method.listRunErrors,
    { projectId: { name: place.project, domain: place.domain }, runs: names.slice(0, most) },
    { enabled: names.length > 0, staleTime: Infinity, placeholderData: keepPreviousData, retry: false },
  );
  const errors = data?.errors ?? {};
  return (run) => (hasError(run) ? (errors[nameOf(run)] ?? (isFetching ? emptyLine : undefined)) : undefined);
}
