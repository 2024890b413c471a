export const appStates = ["active", "deploying", "pending", "stopped", "failed"] as const;
export type AppState = (typeof appStates)[number];

/** The URL parameters of the apps page. */
export interface AppsSearch {
  /** Only apps whose name contains this. */
  readonly q?: string;
  readonly state?: AppState;
  /** Only apps of this user, by subject; "me" for the reader. */
  readonly owner?: string;
}

const textOf = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");

/** Parses the parameters and drops unknown ones. */
export function AppsSearch(search: Record<string, unknown>): AppsSearch {
  const state = appStates.find((known) => known === search["state"]);
  const [q, owner] = [textOf(search["q"]), textOf(search["owner"])];
  return { ...(q !== "" && { q }), ...(state !== undefined && { state }), ...(owner !== "" && { owner }) };
}

export const appTabs = ["overview", "logs", "revisions", "settings", "history"] as const;
export type AppTab = (typeof appTabs)[number];

/** The URL parameters of an app. */
export interface AppSearch {
  /** The tab "overview" if unset. */
  readonly tab?: Exclude<AppTab, "overview">;
  /** The replica whose log is shown; all if unset. */
  readonly replica?: string;
  /** A line of that log, from 1. */
  readonly line?: number;
}

export function AppSearch(search: Record<string, unknown>): AppSearch {
  const tab = appTabs.find((known) => known === search["tab"]);
  const replica = textOf(search["replica"]);
  const line = search["line"];
  return {
    ...(tab !== undefined && tab !== "overview" && { tab }),
    ...(replica !== "" && { replica }),
    ...(typeof line === "number" && Number.isInteger(line) && line > 0 && { line }),
  };
}
