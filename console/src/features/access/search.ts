const textOf = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");

/** Takes the parameters with these names that have a text. */
const texts = <K extends string>(search: Record<string, unknown>, names: readonly K[]): Partial<Record<K, string>> =>
  Object.fromEntries(names.map((name) => [name, textOf(search[name])] as const).filter(([, value]) => value !== "")) as Partial<Record<K, string>>;

/** The URL parameters of the page of API keys. */
export interface KeysSearch {
  /** Also lists keys that have ended. */
  readonly ended?: true;
  /** Also lists the keys of others. */
  readonly all?: true;
}

/** Parses the parameters and drops unknown ones. */
export const KeysSearch = (search: Record<string, unknown>): KeysSearch => ({
  ...(search["ended"] === true && { ended: true as const }),
  ...(search["all"] === true && { all: true as const }),
});

/** The URL parameters of the page of local accounts. */
export interface AccountsSearch {
  /** Also lists accounts that were removed. */
  readonly removed?: true;
}

export const AccountsSearch = (search: Record<string, unknown>): AccountsSearch => (search["removed"] === true ? { removed: true } : {});

export const memberScopes = ["domain", "project", "installation"] as const;
/** Whose bindings are listed: those that reach a domain of the project, the whole project, or the installation. */
export type MemberScope = (typeof memberScopes)[number];

/** The URL parameters of the members of a project. */
export interface MembersSearch {
  /** The project's domain if unset. */
  readonly scope?: Exclude<MemberScope, "domain">;
}

export function MembersSearch(search: Record<string, unknown>): MembersSearch {
  const scope = memberScopes.find((known) => known === search["scope"]);
  return scope === undefined || scope === "domain" ? {} : { scope };
}

export const outcomes = ["succeeded", "failed", "refused", "unknown"] as const;

/** The URL parameters of the audit: its filters. */
export interface AuditSearch {
  readonly subject?: string;
  readonly permission?: string;
  readonly outcome?: (typeof outcomes)[number];
  readonly project?: string;
  readonly domain?: string;
  /** Times in UTC, as a datetime-local control writes them. */
  readonly from?: string;
  readonly until?: string;
}

export function AuditSearch(search: Record<string, unknown>): AuditSearch {
  const outcome = outcomes.find((known) => known === search["outcome"]);
  return {
    ...texts(search, ["subject", "permission", "project", "domain", "from", "until"]),
    ...(outcome !== undefined && { outcome }),
  };
}

export const explainedKinds = ["user", "group", "key"] as const;

/** The URL parameters of the explanation of access: the question. */
export interface ExplainSearch {
  /** What the member is; a user if unset. */
  readonly kind?: Exclude<(typeof explainedKinds)[number], "user">;
  /** The member; the reader if unset. */
  readonly member?: string;
  /** The groups of a user at the identity provider, with commas between them. */
  readonly groups?: string;
  readonly permission?: string;
  readonly project?: string;
  readonly domain?: string;
}

export function ExplainSearch(search: Record<string, unknown>): ExplainSearch {
  const kind = explainedKinds.find((known) => known === search["kind"]);
  return {
    ...texts(search, ["member", "groups", "permission", "project", "domain"]),
    ...(kind !== undefined && kind !== "user" && { kind }),
  };
}
