import { queryOfOld } from "@/entities/run/query/old";

/** The orders that the server can page through. */
export const sorts = ["newest", "oldest", "updated", "longest", "shortest"] as const;
export type Sort = (typeof sorts)[number];

/** The URL parameters of the runs page. */
export interface RunsSearch {
  /** Which runs, in the language of docs/queries.md; all when unset. */
  readonly query?: string;
  /** Newest first when unset. */
  readonly sort?: Exclude<Sort, "newest">;
  /** Whether runs of one trigger are listed one by one. */
  readonly unfold?: true;
  /** Within the page: only runs without a trigger. It is not in the address. */
  readonly untriggered?: true;
}

/** Parses the parameters and drops unknown ones. Those of older addresses, which had a parameter for each filter, become a query. */
export function RunsSearch(search: Record<string, unknown>): RunsSearch {
  const given = search["query"];
  const query = typeof given === "string" || typeof given === "number" ? String(given).trim() : queryOfOld(search);
  const sort = sorts.find((known) => known === search["sort"]);
  const unfold = search["unfold"] === true || search["unfold"] === "true";
  return { ...(query !== "" && { query }), ...(sort && sort !== "newest" && { sort }), ...(unfold && { unfold }) };
}

/** A search with another query. */
export function withQuery(search: RunsSearch, query: string): RunsSearch {
  return { ...without("query", search), ...(query !== "" && { query }) };
}

/** A search with another order. */
export function withSort(search: RunsSearch, sort: Sort): RunsSearch {
  return { ...without("sort", search), ...(sort !== "newest" && { sort }) };
}

/** A search without one of its parameters. */
export const without = (name: keyof RunsSearch, search: RunsSearch): RunsSearch =>
  Object.fromEntries(Object.entries(search).filter(([key]) => key !== name));
