import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { RunDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { renewed } from "@/api/renewed";
import { client } from "@/api/transport";
import { useWatch, type Watched } from "@/api/use-watch";
import { isTerminal } from "@/design/phases";
import { keyOfRun, serviceOf } from "./kind";
import type { RunName } from "./kind";

/** Follows the details of a run: its origin, options and root action. */
export function useRunDetails(run: RunName): Watched<RunDetails> {
  const { project, domain, name } = run;
  return useWatch(
    keyOfRun(run),
    (signal) =>
      renewed(
        (quiet) => client(serviceOf(run)).watchRunDetails({ runId: { project, domain, name } }, { signal: quiet }),
        (message) => message.details,
        (last) => isTerminal(last.action?.status?.phase ?? ActionPhase.UNSPECIFIED),
        signal,
      ),
    (_, next: RunDetails) => next,
  );
}
