/** The URL parameters of the artifacts page. */
export interface ArtifactsSearch {
  /** Only artifacts whose name contains this. */
  readonly q?: string;
}

const textOf = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");

/** Parses the parameters and drops unknown ones. */
export function ArtifactsSearch(search: Record<string, unknown>): ArtifactsSearch {
  const q = textOf(search["q"]);
  return q === "" ? {} : { q };
}

/** The URL parameters of an artifact. */
export interface ArtifactSearch {
  /** The version that is shown; the newest if unset. */
  readonly version?: string;
}

export function ArtifactSearch(search: Record<string, unknown>): ArtifactSearch {
  const version = textOf(search["version"]);
  return version === "" ? {} : { version };
}
