import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { QueryRunsResponseSchema, type QueryRunsRequest, type QueryRunsResponse } from "@gen/flytebinary/insight/v1/queries_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSchema, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import {
  ListRunsResponseSchema,
  WatchRunsResponseSchema,
  type ListRunsRequest,
  type ListRunsResponse,
  type WatchRunsResponse,
} from "@gen/flyteidl2/workflow/run_service_pb.js";
import { nameOf, phaseOf } from "@/entities/run/listed";
import type { RunsSearch } from "./search";
import { useRuns } from "./use-runs";

const server = vi.hoisted(() => ({
  queryRuns: vi.fn<(request: QueryRunsRequest) => Promise<QueryRunsResponse>>(),
  listRuns: vi.fn<(request: ListRunsRequest) => Promise<ListRunsResponse>>(),
  watchRuns: vi.fn<(request: unknown, options: { signal: AbortSignal }) => AsyncIterable<WatchRunsResponse>>(),
}));
vi.mock("@/api/transport", () => ({ client: () => server }));

const run = (name: string, minute: number, phase = ActionPhase.RUNNING): Run =>
  create(RunSchema, {
    action: { id: { run: { project: "p", domain: "d", name }, name: "a0" }, status: { phase, startTime: timestampFromMs(minute * 60_000) } },
  });
const answer = (runs: Run[], token = "") => create(QueryRunsResponseSchema, { runs, token });
const page = (runs: Run[], token = "") => create(ListRunsResponseSchema, { runs, token });

/** What the stream says from now on, and how it is broken. */
function stream() {
  let say: (message: WatchRunsResponse) => void = () => undefined;
  let end: () => void = () => undefined;
  server.watchRuns.mockImplementation(async function* (_, { signal }) {
    const waiting: WatchRunsResponse[] = [create(WatchRunsResponseSchema)];
    let over = false;
    let wake: () => void = () => undefined;
    say = (message) => {
      waiting.push(message);
      wake();
    };
    end = () => {
      over = true;
      wake();
    };
    signal.addEventListener("abort", () => end());
    for (;;) {
      for (let message = waiting.shift(); message; message = waiting.shift()) yield message;
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it is set while this waits
      if (over) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  });
  return { say: (...runs: Run[]) => act(() => say(create(WatchRunsResponseSchema, { runs }))), end: () => act(() => end()) };
}

const place = { project: "p", domain: "d" };

function show(search: RunsSearch) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const transport = createRouterTransport(() => undefined);
  const wrapper = ({ children }: { readonly children: ReactNode }) => (
    <TransportProvider transport={transport}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </TransportProvider>
  );
  return renderHook((props: RunsSearch) => useRuns(place, props), { wrapper, initialProps: search });
}

beforeEach(() => {
  server.listRuns.mockReset();
  server.queryRuns.mockReset();
});
afterEach(cleanup);

it("never shows for one search what another found", async () => {
  stream();
  server.listRuns.mockResolvedValue(page([run("a", 2), run("b", 1, ActionPhase.FAILED)]));
  server.queryRuns.mockResolvedValue(answer([run("b", 1, ActionPhase.FAILED)]));
  const { result, rerender } = show({});
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["a", "b"]));
  rerender({ query: "phase:failed" });
  expect(result.current.runs.map(nameOf)).not.toContain("a");
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["b"]));
});

it("shows what the stream tells, as far as it matches", async () => {
  const { say } = stream();
  server.queryRuns.mockResolvedValue(answer([run("a", 1)]));
  const { result } = show({ query: "phase:running" });
  await waitFor(() => expect(result.current.live).toBe(true));
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["a"]));
  say(run("b", 2), run("c", 3, ActionPhase.FAILED));
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["b", "a"]));
  say(run("a", 1, ActionPhase.SUCCEEDED));
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["b"]));
});

it("reads on with the token of the last page", async () => {
  stream();
  server.listRuns.mockImplementation(({ request }) => Promise.resolve(request?.token === "" ? page([run("a", 2)], "next") : page([run("b", 1)])));
  const { result } = show({});
  await waitFor(() => expect(result.current.more).toBe(true));
  act(() => result.current.loadMore());
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["a", "b"]));
  expect(result.current.more).toBe(false);
});

it("reads again what it may have missed while the stream was broken", async () => {
  const { end } = stream();
  server.listRuns.mockResolvedValueOnce(page([run("a", 1)])).mockResolvedValue(page([run("a", 1, ActionPhase.FAILED)]));
  const { result } = show({});
  await waitFor(() => expect(result.current.live && result.current.runs.length === 1).toBe(true));
  end();
  await waitFor(() => expect(result.current.runs.map(phaseOf)).toEqual([ActionPhase.FAILED]), { timeout: 8000 });
}, 10_000);

it("is not live where the stream does not tell enough", async () => {
  stream();
  server.queryRuns.mockResolvedValue(answer([run("a", 1)]));
  const { result } = show({ query: "is:paused" });
  await waitFor(() => expect(result.current.runs).toHaveLength(1));
  expect(result.current.live).toBe(false);
  expect(server.queryRuns.mock.lastCall?.[0]).toMatchObject({ projectId: { name: "p", domain: "d" }, query: "is:paused", tracked: false });
});

it("asks for the order by duration of the newest runs, and a server without queries for that of all", async () => {
  stream();
  server.queryRuns.mockResolvedValueOnce(create(QueryRunsResponseSchema, { runs: [run("a", 1)], orderOfNewest: true }));
  const { result, rerender } = show({ sort: "longest" });
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["a"]));
  expect(result.current.ofNewest).toBe(true);
  expect(server.listRuns).not.toHaveBeenCalled();
  server.queryRuns.mockRejectedValue(new ConnectError("no such service", Code.Unimplemented));
  server.listRuns.mockResolvedValue(page([run("b", 1)]));
  rerender({ sort: "shortest" });
  await waitFor(() => expect(result.current.runs.map(nameOf)).toEqual(["b"]));
  server.queryRuns.mockRejectedValue(new ConnectError("down", Code.Unavailable));
  rerender({ sort: "longest", untriggered: true });
  await waitFor(() => expect(result.current.problem).toBeDefined());
  expect(server.listRuns).toHaveBeenCalledTimes(1);
});
