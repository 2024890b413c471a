import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { QueryRunsResponseSchema, type QueryRunsRequest, type QueryRunsResponse } from "@gen/flytebinary/insight/v1/queries_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSchema, RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { ListRunsResponseSchema, WatchRunsResponseSchema, type ListRunsResponse, type WatchRunsResponse } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { RunsSearch } from "./search";
import { keyOf } from "@/entities/run/listed";
import { useAllRuns } from "./use-all-runs";

/** What the two services have, and which of their streams are open. */
const server = vi.hoisted(() => ({ runs: new Map<string, unknown[]>(), streams: new Set<string>(), lists: [] as string[] }));

vi.mock("@/api/transport", () => ({
  client: ({ typeName }: { readonly typeName: string }) => ({
    listRuns: (): Promise<ListRunsResponse> => {
      server.lists.push(typeName);
      return Promise.resolve(create(ListRunsResponseSchema, { runs: (server.runs.get(typeName) ?? []) as Run[] }));
    },
    queryRuns: ({ tracked: of }: QueryRunsRequest): Promise<QueryRunsResponse> => {
      const name = of ? "flyteidl2.workflow.TrackedRunService" : "flyteidl2.workflow.RunService";
      server.lists.push(name);
      return Promise.resolve(create(QueryRunsResponseSchema, { runs: (server.runs.get(name) ?? []) as Run[] }));
    },
    watchRuns: async function* (_: unknown, { signal }: { signal: AbortSignal }): AsyncGenerator<WatchRunsResponse> {
      server.streams.add(typeName);
      yield create(WatchRunsResponseSchema);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  }),
}));

const own = "flyteidl2.workflow.RunService";
const tracked = "flyteidl2.workflow.TrackedRunService";

const run = (name: string, minute: number, source: RunSource): Run =>
  create(RunSchema, {
    action: {
      id: { run: { project: "p", domain: "d", name }, name: "a0" },
      metadata: { source },
      status: { phase: ActionPhase.RUNNING, startTime: timestampFromMs(minute * 60_000) },
    },
  });

function show(search: RunsSearch) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const wrapper = ({ children }: { readonly children: ReactNode }) => (
    <TransportProvider transport={createRouterTransport(() => undefined)}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </TransportProvider>
  );
  return renderHook(() => useAllRuns({ project: "p", domain: "d" }, search), { wrapper });
}

const keys = (runs: readonly Run[]) => runs.map(keyOf).join(" ");

beforeEach(() => {
  server.streams.clear();
  server.lists.length = 0;
  server.runs.set(own, [run("c", 30, RunSource.CLI), run("same", 10, RunSource.CLI)]);
  server.runs.set(tracked, [run("same", 20, RunSource.TRACKED)]);
});
afterEach(cleanup);

it("lists both kinds, newest first, and follows both", async () => {
  const { result } = show({});
  await waitFor(() => expect(keys(result.current.runs)).toBe("c tracked:same same"));
  await waitFor(() => expect(result.current.live).toBe(true));
  expect([...server.streams].sort()).toEqual([own, tracked]);
});

it("opens no stream for tracked runs while there are none", async () => {
  server.runs.set(tracked, []);
  const { result } = show({});
  await waitFor(() => expect(keys(result.current.runs)).toBe("c same"));
  await waitFor(() => expect(result.current.live).toBe(true));
  expect([...server.streams]).toEqual([own]);
});

it("asks only the service that can have what the filter wants", async () => {
  const only = show({ query: "source:tracked" });
  await waitFor(() => expect(keys(only.result.current.runs)).toBe("tracked:same"));
  expect(new Set(server.lists)).toEqual(new Set([tracked]));
  server.lists.length = 0;
  const cli = show({ query: "source:cli" });
  await waitFor(() => expect(keys(cli.result.current.runs)).toBe("c same"));
  expect(new Set(server.lists)).toEqual(new Set([own]));
  server.lists.length = 0;
  const paused = show({ query: "is:paused" });
  await waitFor(() => expect(paused.result.current.loading).toBe(false));
  expect(new Set(server.lists)).toEqual(new Set([own]));
});
