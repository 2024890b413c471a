import { keepPreviousData } from "@tanstack/react-query";
import { useQuery } from "@connectrpc/connect-query";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { Place } from "@/app/place";
import { isTracked, nameOf } from "@/entities/run/listed";

/** How often the clusters of runs are read again, in milliseconds. */
const every = 10_000;
/** The most runs that one request may name. */
const most = 500;

/** In which clusters runs are. */
export interface RunClusters {
  /** Whether the installation has more than one cluster. */
  readonly several: boolean;
  /** The cluster of a run, by the name of the run. */
  readonly of: Readonly<Record<string, string>>;
}

/** Reads the clusters of the latest runs of a list. */
export function useClusters(place: Place, runs: readonly Run[], enabled: boolean): RunClusters {
  const names = runs.filter((run) => !isTracked(run)).map(nameOf);
  const { data } = useQuery(
    InsightService.method.listRunClusters,
    { projectId: { name: place.project, domain: place.domain }, runs: names.slice(0, most) },
    { enabled, refetchInterval: every, placeholderData: keepPreviousData, retry: false },
  );
  return { several: data?.several ?? false, of: data?.clusters ?? {} };
}
