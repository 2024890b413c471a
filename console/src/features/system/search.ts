/** What the address of the system page says: which keys of the configuration are shown. */
export interface SystemSearch {
  /** Only keys and values that have this. */
  readonly q?: string;
  /** Only what is not the default. */
  readonly changed?: true;
}

/** Takes what it knows of an address, and drops the rest. */
export function SystemSearch(search: Record<string, unknown>): SystemSearch {
  const q = search["q"];
  return {
    ...((typeof q === "string" || typeof q === "number") && q !== "" && { q: String(q) }),
    ...(search["changed"] === true && { changed: true }),
  };
}
