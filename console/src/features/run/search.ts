/** The URL parameters of a run. */
export interface ActionSearch {
  /** The view of the actions. */
  readonly view?: RunView;
  /** The selected action; a0 is the root action. */
  readonly action?: string;
  /** The tab of the action. */
  readonly tab?: "summary" | "io" | "logs" | "code" | "report" | "pod";
  /** The attempt to show; the latest if unset. */
  readonly attempt?: number;
  /** A line of the log. */
  readonly line?: number;
  /** A file of the code. */
  readonly file?: string;
  /** Only actions whose name contains this. */
  readonly q?: string;
  /** Only actions in these phases, by key and with commas. */
  readonly phases?: string;
}

const views = ["tree", "timeline", "graph", "errors", "notifications", "apps"] as const;
export type RunView = (typeof views)[number];
const tabs = ["summary", "io", "logs", "code", "report", "pod"] as const;

/** Parses the parameters and drops unknown ones. */
export function ActionSearch(search: Record<string, unknown>): ActionSearch {
  const view = views.find((known) => known === search["view"]);
  const tab = tabs.find((known) => known === search["tab"]);
  return {
    ...(view && { view }),
    ...(tab && { tab }),
    ...text(search, "action"),
    ...text(search, "file"),
    ...text(search, "q"),
    ...text(search, "phases"),
    ...number(search, "attempt"),
    ...number(search, "line"),
  };
}

const text = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, string>> => {
  const value = search[key];
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ({ [key]: String(value) } as Record<K, string>) : {};
};

const number = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, number>> => {
  const value = Number(search[key]);
  return Number.isInteger(value) && value > 0 ? ({ [key]: value } as Record<K, number>) : {};
};
