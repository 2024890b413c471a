/** The orders of problems: the latest seen first unless set. */
export const orders = ["failures", "new"] as const;
export type Order = (typeof orders)[number];

/** The spans in which a problem must have been seen, in hours. */
export const spans = { day: 24, week: 7 * 24, month: 30 * 24 } as const;
export type SpanKey = keyof typeof spans;

/** The URL parameters of the problems page. */
export interface ProblemsSearch {
  /** Only problems of the task of this name. */
  readonly task?: string;
  /** Only problems that were seen lately. */
  readonly seen?: SpanKey;
  readonly order?: Order;
}

/** Parses the parameters and drops unknown ones. */
export function ProblemsSearch(search: Record<string, unknown>): ProblemsSearch {
  const { task, seen } = search;
  const order = orders.find((one) => one === search["order"]);
  return {
    ...((typeof task === "string" || typeof task === "number") && task !== "" && { task: String(task) }),
    ...(typeof seen === "string" && seen in spans && { seen: seen as SpanKey }),
    ...(order !== undefined && { order }),
  };
}
