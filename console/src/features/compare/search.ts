/** The URL parameters of a comparison: two runs, each by its name, or `tracked:` and the name of a tracked run. */
export interface CompareSearch {
  readonly a?: string;
  readonly b?: string;
}

/** Parses the parameters and drops unknown ones. */
export function CompareSearch(search: Record<string, unknown>): CompareSearch {
  return { ...name(search, "a"), ...name(search, "b") };
}

// The router parses a name of digits only as a number.
const name = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, string>> => {
  const value = search[key];
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ({ [key]: String(value) } as Record<K, string>) : {};
};
