import { CostGroup } from "@gen/flytebinary/insight/v1/cost_pb.js";

/** What costs are summed by. */
export const groups: Readonly<Record<string, { readonly group: CostGroup; readonly label: string; readonly what: string }>> = {
  task: { group: CostGroup.TASK, label: "Task", what: "tasks" },
  run: { group: CostGroup.RUN, label: "Run", what: "runs" },
  owner: { group: CostGroup.OWNER, label: "Owner", what: "owners" },
  label: { group: CostGroup.LABEL, label: "Label", what: "labels" },
};
