import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { SystemService, type GetSystemResponse } from "@gen/flytebinary/insight/v1/system_pb.js";
import { useNow } from "@/design/time";
import { remember, type History } from "./words";

/** How often the server is asked, in milliseconds. */
export const every = 4000;

/** After so long without an answer what is shown counts as old. */
const old = 3 * every;

/** Looks at the server again and again, as long as the page is in sight, and remembers what the figures were. */
export function useSystem() {
  const asked = { refetchInterval: every, retry: false, staleTime: 0 };
  const { data, dataUpdatedAt, error, refetch } = useQuery(SystemService.method.getSystem, {}, asked);
  const queues = useQuery(InsightService.method.listQueues, {}, asked);
  const history = useHistory(data, dataUpdatedAt);
  const now = useNow(1000);
  return {
    system: data,
    queues: queues.data?.queues,
    history,
    /** When the server answered last. */
    at: data && new Date(dataUpdatedAt),
    stale: data !== undefined && now - dataUpdatedAt > old,
    error,
    again: () => {
      void refetch();
      void queues.refetch();
    },
  };
}

function useHistory(data: GetSystemResponse | undefined, at: number): History {
  const [seen, setSeen] = useState<{ readonly at: number; readonly started: bigint; readonly history: History }>({ at: 0, started: 0n, history: new Map() });
  if (!data || at === seen.at) return seen.history;
  const started = data.startedAt?.seconds ?? 0n;
  const history = remember(started === seen.started ? seen.history : new Map(), data.figures); // another process, another history
  setSeen({ at, started, history });
  return history;
}
