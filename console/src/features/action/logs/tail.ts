import { Code, ConnectError, type Client } from "@connectrpc/connect";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { DataProxyService, type TailLogsResponse } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { ContainerIdentifier } from "@gen/flyteidl2/logs/dataplane/payload_pb.js";
import { follow } from "@/api/watch";
import { actionId, type ActionName } from "@/entities/action/name";
import type { LogStore } from "./log-store";
import { paced } from "./paced";

/** The containers to read. */
export type Source = { readonly kind: "primary" } | { readonly kind: "all" } | { readonly kind: "pod"; readonly pod: string };

export interface TailTarget {
  readonly action: ActionName;
  readonly attempt: number;
  readonly source: Source;
  /** Whether a missing log may still appear. */
  readonly live: () => boolean;
}

type LogClient = Pick<Client<typeof DataProxyService>, "tailLogs">;

/**
 * Reads a log into a store until it ends. The server always starts with the first line, so after a reconnect the lines that
 * were received before are skipped, per container.
 */
export async function tail(client: LogClient, target: TailTarget, store: LogStore, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const stop = () => over.abort();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  let seen = new Map<string, number>();
  await follow<TailLogsResponse>(
    {
      onOpen: () => {
        seen = new Map();
      },
      open: (attempt) => lines(client, target, store, attempt, stop),
      onMessage: (message) => {
        for (const { container, lines } of message.logs) {
          const name = nameOf(container);
          const before = seen.get(name) ?? 0;
          seen.set(name, before + lines.length);
          const known = Math.max(0, store.received(name) - before);
          if (known >= lines.length) continue;
          store.add(
            name,
            lines.slice(known).map((line) => ({ at: line.timestamp && timestampMs(line.timestamp), message: line.message })),
          );
        }
        if (store.full) {
          store.set({ state: "full" });
          stop();
        } else if (store.reading.state !== "reading") {
          store.set({ state: "reading" });
        }
      },
      onFailure: (problem) => store.set({ state: "failed", problem }),
    },
    over.signal,
  );
  signal.removeEventListener("abort", stop);
}

async function* lines(client: LogClient, target: TailTarget, store: LogStore, signal: AbortSignal, stop: () => void): AsyncGenerator<TailLogsResponse> {
  try {
    yield* paced(
      client.tailLogs({ actionId: actionId(target.action), attempt: target.attempt, podSelector: selectorOf(target.source) }, { signal }),
    );
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    if (code === Code.Unavailable && ofCluster.test(rawMessage)) {
      store.set({ state: "away", why: rawMessage }); // the server is there, and the stream is reopened after a pause
      return;
    }
    if (code !== Code.NotFound || store.size > 0 || !target.live()) throw error;
    store.set({ state: "not found yet" }); // the stream is reopened after a pause
    return;
  }
  if (signal.aborted) return;
  store.set({ state: "ended" });
  stop();
}

/** What the server says of a cluster that it cannot reach, in contrast to a server that cannot be reached itself. */
const ofCluster = /^cluster \S+ (is|does) /;

function selectorOf(source: Source) {
  switch (source.kind) {
    case "all":
      return { case: "allPods", value: true } as const;
    case "pod":
      return { case: "podName", value: source.pod } as const;
    default:
      return { case: "primaryPod", value: true } as const;
  }
}

const nameOf = (container: ContainerIdentifier | undefined): string => (container ? `${container.kubernetesPodName}/${container.kubernetesContainerName}` : "");
