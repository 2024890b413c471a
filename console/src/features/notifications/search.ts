const states = ["dead", "pending", "delivered", "all"] as const;
export type StateKey = (typeof states)[number];

/** The URL parameters of the list of notifications. */
export interface NotificationsSearch {
  /** Only notifications in this state; the undelivered ones if unset. */
  readonly state?: StateKey;
}

/** Parses the parameters and drops unknown ones. */
export function NotificationsSearch(search: Record<string, unknown>): NotificationsSearch {
  const state = states.find((known) => known === search["state"]);
  return state ? { state } : {};
}
