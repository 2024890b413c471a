/** The views of the tasks page: how tasks do, what is deployed, what the cache does. */
export const taskViews = ["health", "deployed", "cache"] as const;
export type TasksView = (typeof taskViews)[number];

/** What tasks are sorted by. The router reads this file at the start, so it has no messages of the API. */
export const taskOrders = ["last", "name", "p50", "p90", "slower", "slower-p90", "failures", "hits", "cost"];

/** The URL parameters of the tasks page. */
export interface TasksSearch {
  /** Only tasks whose name contains this. */
  readonly q?: string;
  /** The view "health" if unset. */
  readonly view?: Exclude<TasksView, "health">;
  /** One of taskOrders, "slower" if unset: what got slower comes first. */
  readonly sort?: string;
  readonly ascending?: true;
  /** The task whose misses of the cache are shown. */
  readonly task?: string;
}

/** Parses the parameters and drops unknown ones. */
export function TasksSearch(search: Record<string, unknown>): TasksSearch {
  const text = (name: string): string => {
    const value = search[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const view = taskViews.find((known) => known === search["view"]);
  const sort = text("sort");
  return {
    ...(text("q") !== "" && { q: text("q") }),
    ...(view !== undefined && view !== "health" && { view }),
    ...(taskOrders.includes(sort) && sort !== "slower" && { sort }),
    ...(search["ascending"] === true && { ascending: true as const }),
    ...(text("task") !== "" && { task: text("task") }),
  };
}

export const taskTabs = ["runs", "actions", "pipeline", "interface", "environment", "versions"] as const;
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
