export const scopes = ["project", "domain", "organization"] as const;
/** Where secrets belong: a project's domain, a domain, or the organization. */
export type Scope = (typeof scopes)[number];

/** The URL parameters of the secrets page. */
export interface SecretsSearch {
  /** The scope whose secrets, and those below it, are listed; the project if unset. */
  readonly scope?: Exclude<Scope, "project">;
}

/** Parses the parameters and drops unknown ones. */
export function SecretsSearch(search: Record<string, unknown>): SecretsSearch {
  const scope = scopes.find((known) => known === search["scope"]);
  return scope === undefined || scope === "project" ? {} : { scope };
}
