/** The URL parameters of the launch page. */
export interface LaunchSearch {
  /** The task. */
  readonly task?: string;
  /** Its version; the latest if unset. */
  readonly version?: string;
  /** A run of the same project and domain that provides the initial inputs and options. */
  readonly from?: string;
}

/** Parses the parameters and drops unknown ones. */
export function LaunchSearch(search: Record<string, unknown>): LaunchSearch {
  return { ...text(search, "task"), ...text(search, "version"), ...text(search, "from") };
}

// The router parses a version or a name of digits only as a number.
const text = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, string>> => {
  const value = search[key];
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ({ [key]: String(value) } as Record<K, string>) : {};
};
