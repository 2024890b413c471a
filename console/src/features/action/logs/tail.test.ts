// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { TailLogsResponseSchema, type TailLogsResponse } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { LogStore } from "./log-store";
import { tail } from "./tail";

const action = { run: { project: "p", domain: "d", name: "r" }, name: "a0" };

const message = (pod: string, ...texts: string[]) =>
  create(TailLogsResponseSchema, {
    logs: [{ lines: texts.map((text) => ({ message: `${text}\n` })), container: { kubernetesPodName: pod, kubernetesContainerName: "main" } }],
  });

/** A server that answers each call with the next of its streams. */
function server(...streams: (TailLogsResponse | ConnectError)[][]) {
  let calls = 0;
  return {
    calls: () => calls,
    tailLogs: async function* (): AsyncGenerator<TailLogsResponse> {
      await Promise.resolve();
      for (const part of streams[Math.min(calls++, streams.length - 1)] ?? []) {
        if (part instanceof ConnectError) throw part;
        yield part;
      }
    },
  };
}

const texts = (store: LogStore) => Array.from({ length: store.size }, (_, line) => store.text(line));

async function read(client: ReturnType<typeof server>, live = false): Promise<LogStore> {
  const store = new LogStore();
  const control = new AbortController();
  const reading = tail(client, { action, attempt: 1, source: { kind: "primary" }, live: () => live }, store, control.signal);
  await vi.runAllTimersAsync();
  await reading;
  return store;
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("reads to the end and stops", async () => {
  const client = server([message("p", "a", "b"), create(TailLogsResponseSchema), message("p", "c")]);
  const store = await read(client);
  expect([texts(store), store.reading.state, client.calls()]).toEqual([["a", "b", "c"], "ended", 1]);
});

it("goes on after a break without lines twice or left out, for each container", async () => {
  const broken = new ConnectError("gone", Code.Unavailable);
  const client = server(
    [message("p", "a", "b"), message("q", "x"), broken],
    [message("q", "x", "y"), message("p", "a"), broken],
    [message("p", "a", "b", "c"), message("q", "x", "y")],
  );
  const store = await read(client);
  expect(texts(store)).toEqual(["a", "b", "x", "y", "c"]);
  expect(client.calls()).toBe(3);
});

it("waits for the log of what runs", async () => {
  const none = new ConnectError("none", Code.NotFound);
  const store = await read(server([none], [none], [message("p", "a")]), true);
  expect([texts(store), store.reading.state]).toEqual([["a"], "ended"]);
});

it("says which cluster is away, and continues when it is back", async () => {
  const why = "cluster east is away since 2026-01-02 03:04:05 UTC; the logs of what runs there continue when it is back";
  const client = server([message("p", "a"), new ConnectError(why, Code.Unavailable)], [message("p", "a", "b")]);
  const store = new LogStore();
  const said: string[] = [];
  store.subscribe(() => store.reading.state === "away" && said.push(store.reading.why));
  const reading = tail(client, { action, attempt: 1, source: { kind: "primary" }, live: () => true }, store, new AbortController().signal);
  await vi.runAllTimersAsync();
  await reading;
  expect(said[0]).toBe(why);
  expect([texts(store), store.reading.state]).toEqual([["a", "b"], "ended"]);
});

it("says that the log of what has ended is not there", async () => {
  const store = await read(server([new ConnectError("was not kept", Code.NotFound)]));
  expect(store.reading).toMatchObject({ state: "failed", problem: { message: "was not kept" } });
});
