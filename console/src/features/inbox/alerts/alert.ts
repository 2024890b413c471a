/** Something to tell a person who does not look at the console. */
export interface Alert {
  /** What it is about, once: the same thing is never shown twice. */
  readonly key: string;
  readonly title: string;
  readonly body: string;
  /** Where it is shown. */
  readonly run: { readonly project: string; readonly domain: string; readonly name: string };
  /** The action that it is about; the root action if undefined. */
  readonly action?: string | undefined;
}

/** What the person knows of already, and when the last look was. */
export interface Told {
  readonly at: number;
  readonly keys: readonly string[];
}

/** After a longer pause, in milliseconds, what happened meanwhile is on the page that the person opens, and brings no notification. */
export const pause = 5 * 60_000;
/** How many keys are kept, and how many things have a notification of their own. */
export const most = { keys: 500, told: 3 } as const;

export const isTold = (value: unknown): value is Told =>
  typeof value === "object" &&
  value !== null &&
  "at" in value &&
  typeof value.at === "number" &&
  "keys" in value &&
  Array.isArray(value.keys) &&
  value.keys.every((key) => typeof key === "string");

/** What is new among what there is now, and what the person knows of then. */
export function fresh(now: readonly Alert[], told: Told | undefined, at: number): { readonly alerts: readonly Alert[]; readonly told: Told } {
  const known = new Set(told?.keys);
  const resumed = told !== undefined && told.at <= at && at - told.at <= pause;
  const keys = [...new Set([...now.map(({ key }) => key), ...known])].slice(0, most.keys);
  return { alerts: resumed ? now.filter(({ key }) => !known.has(key)) : [], told: { at, keys } };
}
