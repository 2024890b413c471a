import { sorts, type ClusterSort } from "./words";

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
