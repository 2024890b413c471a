/** What the address says beside its path. */
export interface RunsSearch {
  readonly q?: string;
}

export function RunsSearch(search: Record<string, unknown>): RunsSearch {
  return typeof search["q"] === "string" ? { q: search["q"] } : {};
}
