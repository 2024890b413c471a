import { keepPreviousData } from "@tanstack/react-query";
import { useQuery } from "@connectrpc/connect-query";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { RunSummary } from "@gen/flytebinary/insight/v1/runs_pb.js";
import type { Place } from "@/app/place";

/** How often unfinished runs are summarized again, in milliseconds. */
const every = 3000;
/** The most runs that one request may name. */
const most = 200;

/** How far runs of a place are, by name. Only unfinished runs of the installation should be asked for. */
export function useSummaries({ project, domain }: Place, names: readonly string[]): Readonly<Record<string, RunSummary>> {
  const { data } = useQuery(
    InsightService.method.summarizeRuns,
    { projectId: { organization: "flyte", name: project, domain }, runs: names.slice(0, most) },
    { enabled: names.length > 0, refetchInterval: (query) => (query.state.error ? false : every), placeholderData: keepPreviousData, retry: false },
  );
  return names.length === 0 ? none : (data?.runs ?? none);
}

const none = {};
