/** The URL parameters of the projects page. */
export interface HomeSearch {
  /** Only projects whose name or ID contains this. */
  readonly q?: string;
  /** Include archived projects. */
  readonly archived?: true;
}

/** Parses the parameters and drops unknown ones. */
export function HomeSearch(search: Record<string, unknown>): HomeSearch {
  const q = search["q"];
  const text = typeof q === "string" || typeof q === "number" ? String(q) : "";
  return { ...(text !== "" && { q: text }), ...((search["archived"] === true || search["archived"] === "true") && { archived: true }) };
}
