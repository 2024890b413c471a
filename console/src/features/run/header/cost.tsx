import { useQuery } from "@connectrpc/connect-query";
import { CostService } from "@gen/flytebinary/insight/v1/cost_pb.js";
import type { RunName } from "@/entities/run/kind";
import { changed, costOf, hoursOf } from "@/entities/use/use";
import { t } from "@/texts/texts";

/** What the run has cost so far, compared with earlier runs of its task. Nothing before an action has ended. */
export function Cost({ run, live }: { readonly run: RunName; readonly live: boolean }) {
  const { data } = useQuery(
    CostService.method.getRunCost,
    { runId: { org: "flyte", project: run.project, domain: run.domain, name: run.name } },
    { enabled: run.tracked !== true, retry: false, refetchInterval: ({ state }) => (live || !state.data?.use?.coreHours ? 10_000 : false) },
  );
  const { use, earlier, currency = "", earlierRuns = 0 } = data ?? {};
  if (!use || use.coreHours + use.gibHours + use.gpuHours === 0) return null;
  const amount = (of: typeof use): number => (currency === "" ? of.coreHours : of.cost);
  // The rest of a run that has not ended is missing, so that a comparison would say that it is cheap.
  const by = live || !earlier ? undefined : changed(amount(use), amount(earlier));
  const title = [hoursOf(use), by !== undefined && earlier && t("{cost} on average of {runs} earlier runs", { cost: costOf(earlier, currency), runs: String(earlierRuns) })].filter(Boolean).join("\n");
  return (
    <span title={title} data-testid="run-cost">
      {costOf(use, currency)}
      {live && ` ${t("so far")}`}
      {by !== undefined && ` (${by})`}
    </span>
  );
}
