/** What the address of the tasks says. */
export interface TasksSearch {
  /** Only tasks whose name has this. */
  readonly q?: string;
}

/** Takes what it knows of an address, and drops the rest. */
export function TasksSearch(search: Record<string, unknown>): TasksSearch {
  const q = search["q"];
  const text = typeof q === "string" || typeof q === "number" ? String(q) : "";
  return text === "" ? {} : { q: text };
}

export const taskTabs = ["runs", "interface", "environment", "versions"] as const;
export type TaskTab = (typeof taskTabs)[number];

/** How far back the history of a task goes, in hours. */
export const ranges = { "1h": 1, "24h": 24, "7d": 7 * 24, "30d": 30 * 24, "90d": 90 * 24 } as const;
export type Range = keyof typeof ranges;

/** What the address of a task says beside its name and version. */
export interface TaskSearch {
  /** The runs with the history when unset. */
  readonly tab?: Exclude<TaskTab, "runs">;
  /** A week when unset. */
  readonly range?: Exclude<Range, "7d">;
}

export function TaskSearch(search: Record<string, unknown>): TaskSearch {
  const tab = taskTabs.find((known) => known === search["tab"]);
  const range = (Object.keys(ranges) as Range[]).find((known) => known === search["range"]);
  return { ...(tab !== undefined && tab !== "runs" && { tab }), ...(range !== undefined && range !== "7d" && { range }) };
}
