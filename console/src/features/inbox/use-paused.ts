import { Code, ConnectError } from "@connectrpc/connect";
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { Place } from "@/app/place";

/** Poll intervals in milliseconds. */
const every = { page: 5_000, count: 20_000 } as const;

const served = (error: ConnectError | null): boolean => error?.code !== Code.Unimplemented;

/** The pending approvals of a place or of all places, oldest first. */
export function usePaused(place: Place | undefined, mine = false) {
  const { project = "", domain = "" } = place ?? {};
  const answer = useInfiniteQuery(
    InsightService.method.listPausedActions,
    { project, domain, limit: 100, token: "", mine },
    {
      pageParamKey: "token",
      getNextPageParam: (page) => page.token || undefined,
      refetchInterval: (query) => (served(query.state.error) ? every.page : false),
    },
  );
  return {
    actions: answer.data?.pages.flatMap((page) => page.actions) ?? [],
    total: answer.data?.pages[0]?.total ?? 0,
    loading: answer.isLoading,
    error: answer.error,
    served: served(answer.error),
    more: answer.hasNextPage ? () => void answer.fetchNextPage() : undefined,
    refetch: () => void answer.refetch(),
  };
}

/** The number of all pending approvals; undefined while unknown. */
export function usePausedCount(): number | undefined {
  const { data } = useQuery(
    InsightService.method.listPausedActions,
    { limit: 1 },
    { retry: false, refetchInterval: (query) => (served(query.state.error) ? every.count : false) },
  );
  return data?.total;
}
