/** The URL parameters of the pools page. */
export interface PoolsSearch {
  /** Only pools of the environment of this name. */
  readonly environment?: string;
  /** The number of the pool whose workers are shown. */
  readonly pool?: number;
}

/** Parses the parameters and drops unknown ones. */
export function PoolsSearch(search: Record<string, unknown>): PoolsSearch {
  const environment = search["environment"];
  const pool = Number(search["pool"]);
  return {
    ...((typeof environment === "string" || typeof environment === "number") && environment !== "" && { environment: String(environment) }),
    ...(Number.isSafeInteger(pool) && pool > 0 && { pool }),
  };
}
