import { Code } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { AppInsightService } from "@gen/flytebinary/insight/v1/apps_pb.js";

/** Poll interval in milliseconds: an app may be deployed while the run is looked at. */
const every = 30_000;

export interface Run {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
}

/** The apps that have outputs of a run among their inputs, newest first; none for a run whose outputs are not in the store. */
export function useAppsOfRun({ project, domain, name }: Run, enabled = true) {
  const answer = useInfiniteQuery(
    AppInsightService.method.listAppsOfRun,
    { runId: { project, domain, name }, limit: 50, token: "" },
    {
      enabled,
      pageParamKey: "token",
      getNextPageParam: (page) => page.token || undefined,
      retry: false,
      refetchInterval: (query) => (query.state.error?.code === Code.Unimplemented ? false : every),
    },
  );
  return {
    apps: answer.data?.pages.flatMap((page) => page.apps) ?? [],
    loading: answer.isLoading,
    error: answer.error,
    more: answer.hasNextPage ? () => void answer.fetchNextPage() : undefined,
    refetch: () => void answer.refetch(),
  };
}
