import { t } from "@/texts/texts";

export const sorts = [
  ["name", t("Name")],
  ["fullest", t("Fullest first")],
  ["busiest", t("Most actions first")],
  ["waiting", t("Most waiting first")],
  ["health", t("Problems first")],
] as const;
export type ClusterSort = (typeof sorts)[number][0];

/** The URL parameters of the page of clusters. */
export interface ClustersSearch {
  /** By name if unset. */
  readonly sort?: ClusterSort;
}

/** Parses the parameters and drops unknown ones. */
export function ClustersSearch(search: Record<string, unknown>): ClustersSearch {
  const sort = sorts.map(([key]) => key).find((key) => key === search["sort"]);
  return sort === undefined || sort === "name" ? {} : { sort };
}
