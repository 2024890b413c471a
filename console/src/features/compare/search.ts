/** What the address says beside its path. */
export interface CompareSearch {
  readonly q?: string;
}

export function CompareSearch(search: Record<string, unknown>): CompareSearch {
  return typeof search["q"] === "string" ? { q: search["q"] } : {};
}
