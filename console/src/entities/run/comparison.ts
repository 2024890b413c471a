/** The most runs that are compared in columns, and that are plotted. */
export const mostRuns = 10;
export const mostPlotted = 100;

/** The URL parameters of a comparison: runs, each by its name, or `tracked:` and the name of a tracked run. */
export interface CompareSearch {
  readonly a?: string;
  readonly b?: string;
  /** The third and further ones, with commas. */
  readonly more?: string;
  /** Instead of columns a plot: of runs by their names, with commas. */
  readonly plot?: string;
  /** A plot of the newest runs that match a query. */
  readonly query?: string;
}

/** Parses the parameters and drops unknown ones. */
export function CompareSearch(search: Record<string, unknown>): CompareSearch {
  return { ...name(search, "a"), ...name(search, "b"), ...name(search, "more"), ...name(search, "plot"), ...name(search, "query") };
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

/** The runs of a plot by their names, each once. */
export const plottedOf = ({ plot }: CompareSearch): readonly string[] => [...new Set(plot?.split(","))].filter(Boolean).slice(0, mostPlotted);
