import { CostGroup } from "@gen/flytebinary/insight/v1/cost_pb.js";
import { t } from "@/texts/texts";

/** What costs are summed by. */
export const groups: Readonly<Record<string, { readonly group: CostGroup; readonly label: string; readonly what: string }>> = {
  task: { group: CostGroup.TASK, label: t("Task"), what: "tasks" },
  run: { group: CostGroup.RUN, label: t("Run"), what: "runs" },
  owner: { group: CostGroup.OWNER, label: t("Owner"), what: "owners" },
  label: { group: CostGroup.LABEL, label: t("Label"), what: "labels" },
};
