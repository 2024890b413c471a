/** The most runs that are compared. */
export const mostRuns = 10;

/** The URL parameters of a comparison: runs, each by its name, or `tracked:` and the name of a tracked run. */
export interface CompareSearch {
  readonly a?: string;
  readonly b?: string;
  /** The third and further ones, with commas. */
  readonly more?: string;
}

/** Parses the parameters and drops unknown ones. */
export function CompareSearch(search: Record<string, unknown>): CompareSearch {
  return { ...name(search, "a"), ...name(search, "b"), ...name(search, "more") };
}

// The router parses a name of digits only as a number.
const name = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, string>> => {
  const value = search[key];
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ({ [key]: String(value) } as Record<K, string>) : {};
};

/** The runs of a comparison, each once. */
export const keysOf = ({ a, b, more }: CompareSearch): readonly string[] =>
  [...new Set([a ?? "", b ?? "", ...(more?.split(",") ?? [])])].filter(Boolean).slice(0, mostRuns);

export function searchOf([a, b, ...more]: readonly string[]): CompareSearch {
  return { ...(a !== undefined && { a }), ...(b !== undefined && { b }), ...(more.length > 0 && { more: more.join(",") }) };
}
