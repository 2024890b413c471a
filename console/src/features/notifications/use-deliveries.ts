import { Code, ConnectError } from "@connectrpc/connect";
import { createConnectQueryKey, useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { NotificationService, type DeliveryState } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { problemOf } from "@/api/problem";
import { useNotify } from "@/design/toast";
import { t } from "@/texts/texts";

/** Poll interval in milliseconds. */
const every = 10_000;

const served = (error: ConnectError | null): boolean => error?.code !== Code.Unimplemented;

export interface Run {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
}

/** The notifications of a run, or of all runs, newest first. */
export function useDeliveries(run: Run | undefined, state: DeliveryState, enabled = true) {
  const answer = useInfiniteQuery(
    NotificationService.method.listDeliveries,
    { scope: run ? { case: "runId", value: run } : { case: undefined }, state, limit: 100, token: "" },
    {
      enabled,
      pageParamKey: "token",
      getNextPageParam: (page) => page.token || undefined,
      retry: false,
      refetchInterval: (query) => (served(query.state.error) ? every : false),
    },
  );
  const isServed = served(answer.error);
  return {
    deliveries: answer.data?.pages.flatMap((page) => page.deliveries) ?? [],
    /** False if the server has no notifications, which is not an error. */
    served: isServed,
    answer: isServed ? answer : { ...noAnswer, refetch: answer.refetch },
  };
}

const noAnswer = { error: null, isLoading: false, isSuccess: false };

/** Sends a notification again. */
export function useSendAgain() {
  const queries = useQueryClient();
  const notify = useNotify();
  return useMutation(NotificationService.method.retryDelivery, {
    onSuccess: () => {
      notify("good", t("The notification is sent again"));
      void queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema: NotificationService.method.listDeliveries, cardinality: undefined }) });
    },
    onError: (error) => notify("danger", t("The notification was not sent"), problemOf(error).message),
  });
}
