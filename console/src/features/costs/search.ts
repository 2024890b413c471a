import { CostGroup } from "@gen/flytebinary/insight/v1/cost_pb.js";

/** What costs are summed by. */
export const groups: Readonly<Record<string, { readonly group: CostGroup; readonly label: string; readonly what: string }>> = {
  task: { group: CostGroup.TASK, label: "Task", what: "tasks" },
  run: { group: CostGroup.RUN, label: "Run", what: "runs" },
  owner: { group: CostGroup.OWNER, label: "Owner", what: "owners" },
  label: { group: CostGroup.LABEL, label: "Label", what: "labels" },
};

/** The spans, in days. */
export const spans = { today: 1, week: 7, month: 30 } as const;
export type SpanKey = keyof typeof spans;

/** The URL parameters of the costs page. */
export interface CostsSearch {
  /** A key of groups, "task" if unset. */
  readonly by?: string;
  /** Seven days if unset. */
  readonly span?: Exclude<SpanKey, "week">;
}

/** Parses the parameters and drops unknown ones. */
export function CostsSearch(search: Record<string, unknown>): CostsSearch {
  const { by, span } = search;
  return {
    ...(typeof by === "string" && by in groups && by !== "task" && { by }),
    ...((span === "today" || span === "month") && { span }),
  };
}
