import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { SystemService, type GetSystemResponse } from "@gen/flytebinary/insight/v1/system_pb.js";
import { useNow } from "@/design/time";
import { addToHistory, type History } from "./words";

/** The poll interval, in milliseconds. */
export const every = 4000;

/** Without an answer for this long, the data counts as stale. */
const staleAfter = 3 * every;

/** Polls the server if the reader may see the system, while the page is visible, and keeps the history of the metrics. */
export function useSystem(enabled: boolean) {
  const asked = { enabled, refetchInterval: every, retry: false, staleTime: 0 };
  const { data, dataUpdatedAt, error, refetch } = useQuery(SystemService.method.getSystem, {}, asked);
  const queues = useQuery(InsightService.method.listQueues, {}, asked);
  const history = useHistory(data, dataUpdatedAt);
  const now = useNow(1000);
  return {
    system: data,
    queues: queues.data?.queues,
    history,
    /** The time of the last answer. */
    at: data && new Date(dataUpdatedAt),
    stale: data !== undefined && now - dataUpdatedAt > staleAfter,
    error,
    refetch: () => {
      void refetch();
      void queues.refetch();
    },
  };
}

function useHistory(data: GetSystemResponse | undefined, at: number): History {
  const [seen, setSeen] = useState<{ readonly at: number; readonly started: bigint; readonly history: History }>({ at: 0, started: 0n, history: new Map() });
  if (!data || at === seen.at) return seen.history;
  const started = data.startedAt?.seconds ?? 0n;
  const history = addToHistory(started === seen.started ? seen.history : new Map(), data.figures); // a new process starts a new history
  setSeen({ at, started, history });
  return history;
}
