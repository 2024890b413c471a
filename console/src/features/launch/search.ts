/** What the address says beside its path. */
export interface LaunchSearch {
  readonly q?: string;
}

export function LaunchSearch(search: Record<string, unknown>): LaunchSearch {
  return typeof search["q"] === "string" ? { q: search["q"] } : {};
}
