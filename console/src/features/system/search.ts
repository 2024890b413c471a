/** The URL parameters of the system page: the filter of the configuration. */
export interface SystemSearch {
  /** Only keys and values that contain this. */
  readonly q?: string;
  /** Only values that differ from the default. */
  readonly changed?: true;
}

/** Parses the parameters and drops unknown ones. */
export function SystemSearch(search: Record<string, unknown>): SystemSearch {
  const q = search["q"];
  return {
    ...((typeof q === "string" || typeof q === "number") && q !== "" && { q: String(q) }),
    ...(search["changed"] === true && { changed: true }),
  };
}
