/** What costs are summed by. The router reads this file at the start, so it has no messages of the API. */
const groupKeys = ["task", "run", "owner", "label"];

/** The spans, in days. */
export const spans = { today: 1, week: 7, month: 30 } as const;
export type SpanKey = keyof typeof spans;

/** The URL parameters of the costs page. */
export interface CostsSearch {
  /** One of groupKeys, "task" if unset. */
  readonly by?: string;
  /** Seven days if unset. */
  readonly span?: Exclude<SpanKey, "week">;
}

/** Parses the parameters and drops unknown ones. */
export function CostsSearch(search: Record<string, unknown>): CostsSearch {
  const { by, span } = search;
  return {
    ...(typeof by === "string" && groupKeys.includes(by) && by !== "task" && { by }),
    ...((span === "today" || span === "month") && { span }),
  };
}
