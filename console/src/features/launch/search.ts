/** What the address of the launch page says beside its place. */
export interface LaunchSearch {
  /** The task. */
  readonly task?: string;
  /** Its version; the latest when unset. */
  readonly version?: string;
  /** A run of the same project and domain whose inputs and options the form starts with. */
  readonly from?: string;
}

/** Takes what it knows of an address, and drops the rest. */
export function LaunchSearch(search: Record<string, unknown>): LaunchSearch {
  return { ...text(search, "task"), ...text(search, "version"), ...text(search, "from") };
}

// A version or a name of digits alone is a number to who reads addresses.
const text = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, string>> => {
  const value = search[key];
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ({ [key]: String(value) } as Record<K, string>) : {};
};
