/** What the address of a comparison says: the two runs, by name. */
export interface CompareSearch {
  readonly a?: string;
  readonly b?: string;
}

/** Takes what it knows of an address, and drops the rest. */
export function CompareSearch(search: Record<string, unknown>): CompareSearch {
  return { ...name(search, "a"), ...name(search, "b") };
}

// A name of digits alone is a number to who reads addresses.
const name = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, string>> => {
  const value = search[key];
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ({ [key]: String(value) } as Record<K, string>) : {};
};
