/** What the address of the projects says. */
export interface HomeSearch {
  /** Only projects whose name or id has this. */
  readonly q?: string;
  /** The archived ones too. */
  readonly archived?: true;
}

/** Takes what it knows of an address, and drops the rest. */
export function HomeSearch(search: Record<string, unknown>): HomeSearch {
  const q = search["q"];
  const text = typeof q === "string" || typeof q === "number" ? String(q) : "";
  return { ...(text !== "" && { q: text }), ...((search["archived"] === true || search["archived"] === "true") && { archived: true }) };
}
