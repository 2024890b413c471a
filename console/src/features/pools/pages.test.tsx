import { create } from "@bufbuild/protobuf";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ListPoolsResponseSchema, ListWorkersResponseSchema, WorkerState } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { PoolsPage } from "./page";

const at = vi.hoisted((): { search: { environment?: string; pool?: number } } => ({ search: {} }));
const server = vi.hoisted(() => ({ listPools: vi.fn(), listWorkers: vi.fn() }));
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d" }),
  useSearch: () => at.search,
  Link: ({ to, params, search, children }: LinkProps) => (
    <a href={to.replaceAll(/\$(\w+)/g, (_, key: string) => params[key] ?? "") + (search ? `?${new URLSearchParams(search)}` : "")}>{children}</a>
  ),
}));
interface LinkProps {
  readonly to: string;
  readonly params: Record<string, string>;
  readonly search?: Record<string, string>;
  readonly children: ReactNode;
}

afterEach(cleanup);
beforeEach(() => {
  at.search = {};
  const pool = (id: bigint, environment: string) => ({
    ...{ id, environment, version: "v1", minReplicas: 1, maxReplicas: 2, concurrency: 2, workers: { live: 1 } },
    ...{ running: 1, waiting: 3, attempts: 10n, warmHits: 9n, starts: 2n, losses: 1n },
  });
  server.listPools.mockResolvedValue(create(ListPoolsResponseSchema, { pools: [pool(2n, "env"), pool(1n, "other")] }));
  server.listWorkers.mockResolvedValue(
    create(ListWorkersResponseSchema, {
      workers: [
        {
          ...{ id: "abc", state: WorkerState.LIVE, slots: 2, given: 10n },
          attempts: [{ actionId: { run: { project: "p", domain: "d", name: "r" }, name: "c1" }, attempt: 2 }],
        },
        { id: "old", state: WorkerState.GONE, reason: "it was silent for longer than its lease" },
      ],
    }),
  );
});

const show = () =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Tooltip.Provider>
        <PoolsPage />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );

it("lists pools, and no workers before one is chosen", async () => {
  show();
  const row = (await screen.findByText("env")).closest("tr");
  expect(row).not.toBeNull();
  for (const words of ["1 ready", "1 to 2 workers with 2 slots each", "9 of 10 (90 %)", "2, 1 lost"]) {
    expect(within(row as HTMLElement).getByText(words)).toBeDefined();
  }
  expect(screen.getByText("env").getAttribute("href")).toContain("pool=2");
  expect(server.listWorkers).not.toHaveBeenCalled();
});

it("shows what the workers of the chosen pool run", async () => {
  at.search = { environment: "env", pool: 2 };
  show();
  const link = await screen.findByText("c1 of r");
  expect(link.getAttribute("href")).toContain("runs/r?action=c1");
  expect(screen.getByText(", attempt 2")).toBeDefined();
  expect(screen.getByText("1 of 2 slots")).toBeDefined();
  expect(screen.getByText("it was silent for longer than its lease")).toBeDefined();
  expect(server.listPools.mock.calls.at(-1)?.[0]).toMatchObject({ environment: "env", projectId: { name: "p", domain: "d" } });
  expect(server.listWorkers.mock.calls.at(-1)?.[0]).toMatchObject({ poolId: 2n });
});
