/** The URL parameters: only the approvals that the reader is asked for. */
export interface InboxSearch {
  readonly mine?: true;
}

/** Parses the parameters and drops unknown ones. */
export function InboxSearch(search: Record<string, unknown>): InboxSearch {
  return search["mine"] === true || search["mine"] === "true" ? { mine: true } : {};
}
