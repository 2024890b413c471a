import { Code, ConnectError, type Client } from "@connectrpc/connect";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { LogLines, TailLogsResponse } from "@gen/flyteidl2/app/app_logs_payload_pb.js";
import type { AppLogsService } from "@gen/flyteidl2/app/app_logs_service_pb.js";
import type { LogLine } from "@gen/flyteidl2/logs/dataplane/payload_pb.js";
import { follow } from "@/api/watch";
import { paced } from "@/features/action/logs/paced";
import type { LogStore } from "@/features/action/logs/log-store";
import type { AppId } from "./id";

export interface TailTarget {
  readonly app: AppId;
  /** The replica; all if undefined. */
  readonly replica: string | undefined;
  /** Whether the replica is gone, so that its log ends. */
  readonly gone: () => boolean;
}

type LogClient = Pick<Client<typeof AppLogsService>, "tailLogs">;

/** A place in the log of a replica: the lines up to a time, and how many with that time. */
interface Position {
  /** In nanoseconds since the epoch. */
  readonly at: bigint;
  readonly lines: number;
}

const start: Position = { at: -1n, lines: 0 };
const stepTo = (position: Position, at: bigint): Position => ({ at, lines: at === position.at ? position.lines + 1 : 1 });
const timeOf = ({ timestamp }: LogLine): bigint | undefined => timestamp && timestamp.seconds * 1_000_000_000n + BigInt(timestamp.nanos);

/**
 * Reads the logs of an app into a store. Replicas come and go, and each stream begins somewhere in their past: after a break,
 * lines up to the last known one are skipped by their times.
 */
export async function tail(client: LogClient, target: TailTarget, store: LogStore, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const stop = () => over.abort();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const known = new Map<string, Position>();
  let stream = new Map<string, { position: Position; repeats: boolean }>();

  /** The lines of a message that are new. */
  const fresh = (name: string, lines: readonly LogLine[]): readonly LogLine[] => {
    const last = known.get(name) ?? start;
    const reading = stream.get(name) ?? { position: start, repeats: known.has(name) };
    stream.set(name, reading);
    return lines.filter((line) => {
      // A line without a time belongs to the one before.
      reading.position = stepTo(reading.position, timeOf(line) ?? reading.position.at);
      const { at, lines } = reading.position;
      reading.repeats &&= at < last.at || (at === last.at && lines <= last.lines);
      if (reading.repeats) return false;
      known.set(name, reading.position);
      return true;
    });
  };

  const add = ({ replicaId, structuredLines }: LogLines) => {
    const name = replicaId?.name ?? "";
    store.add(
      name,
      fresh(name, structuredLines).map((line) => ({ at: line.timestamp && timestampMs(line.timestamp), message: line.message })),
    );
  };

  await follow<TailLogsResponse>(
    {
      onOpen: () => {
        stream = new Map();
      },
      open: (attempt) => read(client, target, store, attempt, stop),
      onMessage: ({ resp }) => {
        if (resp.case === "batches") resp.value.logs.forEach(add);
        if (store.full) {
          store.set({ state: "full" });
          stop();
        } else {
          const none = store.size === 0 && resp.case === "replicas" && resp.value.replicas.length === 0;
          store.set({ state: none ? "not found yet" : "reading" });
        }
      },
      onFailure: (problem) => store.set({ state: "failed", problem }),
    },
    over.signal,
  );
  signal.removeEventListener("abort", stop);
}

async function* read(client: LogClient, of: TailTarget, store: LogStore, signal: AbortSignal, stop: () => void): AsyncGenerator<TailLogsResponse> {
  const { app, replica, gone } = of;
  const target =
    replica === undefined ? ({ case: "appId", value: app } as const) : ({ case: "replicaId", value: { appId: app, name: replica } } as const);
  try {
    yield* paced(client.tailLogs({ target }, { signal }));
  } catch (error) {
    if (ConnectError.from(error).code !== Code.NotFound || gone() || store.size > 0) throw error;
    store.set({ state: "not found yet" }); // the stream is reopened after a pause
    return;
  }
  if (signal.aborted || !gone()) return;
  store.set({ state: "ended" });
  stop();
}
