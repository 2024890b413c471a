/** The URL parameters of the tasks page. */
export interface TasksSearch {
  /** Only tasks whose name contains this. */
  readonly q?: string;
}

/** Parses the parameters and drops unknown ones. */
export function TasksSearch(search: Record<string, unknown>): TasksSearch {
  const q = search["q"];
  const text = typeof q === "string" || typeof q === "number" ? String(q) : "";
  return text === "" ? {} : { q: text };
}

export const taskTabs = ["runs", "interface", "environment", "versions"] as const;
export type TaskTab = (typeof taskTabs)[number];

/** The time ranges of the history, in hours. */
export const ranges = { "1h": 1, "24h": 24, "7d": 7 * 24, "30d": 30 * 24, "90d": 90 * 24 } as const;
export type Range = keyof typeof ranges;

/** The URL parameters of a task. */
export interface TaskSearch {
  /** The tab "runs" if unset. */
  readonly tab?: Exclude<TaskTab, "runs">;
  /** A week if unset. */
  readonly range?: Exclude<Range, "7d">;
}

/** Parses the parameters; defaults are left out of the URL. */
export function TaskSearch(search: Record<string, unknown>): TaskSearch {
  const tab = taskTabs.find((known) => known === search["tab"]);
  const range = (Object.keys(ranges) as Range[]).find((known) => known === search["range"]);
  return { ...(tab !== undefined && tab !== "runs" && { tab }), ...(range !== undefined && range !== "7d" && { range }) };
}
