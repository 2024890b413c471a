/** The kinds of automation by which the list is filtered; "none" is fired by hand only. */
export const triggerKinds = ["schedule", "artifact", "none"] as const;
export type TriggerKind = (typeof triggerKinds)[number];

/** The URL parameters of the triggers page. */
export interface TriggersSearch {
  /** Only triggers whose name contains this. */
  readonly q?: string;
  /** Only triggers of this task. */
  readonly task?: string;
  readonly active?: boolean;
  readonly kind?: TriggerKind;
}

/** Parses the parameters and drops unknown ones. */
export function TriggersSearch(search: Record<string, unknown>): TriggersSearch {
  const text = (key: string): string => {
    const value = search[key];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const kind = triggerKinds.find((known) => known === search["kind"]);
  return {
    ...(text("q") !== "" && { q: text("q") }),
    ...(text("task") !== "" && { task: text("task") }),
    ...(typeof search["active"] === "boolean" && { active: search["active"] }),
    ...(kind !== undefined && { kind }),
  };
}

export const triggerTabs = ["slots", "revisions", "backfills"] as const;
export type TriggerTab = (typeof triggerTabs)[number];

/** The URL parameters of a trigger. */
export interface TriggerSearch {
  /** The tab "slots" if unset. */
  readonly tab?: Exclude<TriggerTab, "slots">;
}

/** Parses the parameters; the first tab has none, so that a trigger has one plain address. */
export function TriggerSearch(search: Record<string, unknown>): TriggerSearch {
  const tab = triggerTabs.find((known) => known === search["tab"]);
  return tab !== undefined && tab !== "slots" ? { tab } : {};
}
