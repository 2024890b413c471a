// @vitest-environment happy-dom
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { TailLogsResponse } from "@gen/flyteidl2/app/app_logs_payload_pb.js";
import { LogStore } from "@/features/action/logs/log-store";
import { batchOf, replicasOf } from "./apps.fixture";
import { appId } from "./id";
import { tail } from "./tail";

const app = appId({ project: "p", domain: "d" }, "hello");
const replicas = replicasOf;
/** Lines of a replica: each is a text and its second, or a text without a time. */
const lines = (replica: string, ...of: (readonly [text: string, second?: number])[]) =>
  batchOf({
    replicaId: { appId: app, name: replica },
    structuredLines: of.map(([message, second]) => ({ message, ...(second !== undefined && { timestamp: { seconds: BigInt(second) } }) })),
  });

const broken = new ConnectError("gone", Code.Unavailable);
const missing = new ConnectError("there is no log", Code.NotFound);

/** Reads the streams one after the other; the last one ends the reading. */
async function read(streams: (TailLogsResponse | ConnectError)[][], gone = () => false) {
  const store = new LogStore();
  const control = new AbortController();
  const targets: unknown[] = [];
  const client = {
    tailLogs: async function* ({ target }: { readonly target?: unknown }): AsyncGenerator<TailLogsResponse> {
      await Promise.resolve();
      targets.push(target);
      for (const part of streams[targets.length - 1] ?? []) {
        if (part instanceof ConnectError) throw part;
        yield part;
      }
      if (targets.length >= streams.length && !gone()) control.abort();
    },
  };
  const reading = tail(client, { app, replica: gone() ? "one" : undefined, gone }, store, control.signal);
  await vi.advanceTimersByTimeAsync(60_000);
  control.abort();
  await vi.advanceTimersByTimeAsync(0);
  await reading;
  return { store, targets, texts: Array.from({ length: store.size }, (_, line) => store.text(line)) };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("goes on after a break without a line twice or left out, wherever the server begins", async () => {
  const { texts } = await read([
    [replicas("one", "two"), lines("one", ["a", 1], ["b", 2], ["c", 2]), lines("two", ["x", 1]), broken],
    // From the last lines of one, and the whole of the other.
    [replicas("one", "two"), lines("one", ["b", 2], ["c", 2], ["d", 2]), lines("one", ["e", 3]), lines("two", ["x", 1], ["y", 4]), broken],
    // A replica that is new, and one that begins after what is known.
    [replicas("one", "three"), lines("one", ["f", 9]), lines("three", ["n", 1])],
  ]);
  expect(texts).toEqual(["a", "b", "c", "x", "d", "e", "y", "f", "n"]);
});

it("counts lines without a time", async () => {
  const { texts } = await read([[lines("one", ["a"], ["b"]), broken], [lines("one", ["a"], ["b"], ["c"])]]);
  expect(texts).toEqual(["a", "b", "c"]);
});

it("keeps lines whose times go back while nothing was lost", async () => {
  expect((await read([[lines("one", ["a", 5], ["b", 4], ["c", 5])]])).texts).toEqual(["a", "b", "c"]);
});

it("waits for the first replica", async () => {
  const { store, texts } = await read([[missing], [replicas()], [replicas("one"), lines("one", ["a", 1])]]);
  expect([texts, store.reading.state]).toEqual([["a"], "reading"]);
  expect((await read([[replicas()]])).store.reading.state).toBe("not found yet");
});

it("ends with the log of a replica that is gone, and says if that was not kept", async () => {
  const { store, targets } = await read([[lines("one", ["a", 1])]], () => true);
  expect([store.size, store.reading.state]).toEqual([1, "ended"]);
  expect(targets).toEqual([{ case: "replicaId", value: { appId: app, name: "one" } }]);
  expect((await read([[missing]], () => true)).store.reading).toMatchObject({ state: "failed", problem: { message: "there is no log" } });
});
