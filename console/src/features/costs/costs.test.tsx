import { createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { CostService } from "@gen/flytebinary/insight/v1/cost_pb.js";
import { Toasts } from "@/design/toast";
import { CostsPage } from "./page";

interface LinkProps {
  readonly to: string;
  readonly params?: Record<string, string>;
  readonly search?: Record<string, string>;
  readonly children: ReactNode;
}

const at = vi.hoisted((): { search: Record<string, string> } => ({ search: {} }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d" }),
  useSearch: () => at.search,
  useNavigate: () => vi.fn(),
  Link: ({ to, params, search, children }: LinkProps) => (
    <a href={to.replaceAll(/\$(\w+)/g, (_, key: string) => params?.[key] ?? "") + (search ? `?${new URLSearchParams(search).toString()}` : "")}>{children}</a>
  ),
}));

/** Use of two core-hours, of which half was measured. */
const measured = (cores: number, memory: number) => ({
  coreHours: 2,
  gibHours: 4,
  measured: { requestedCoreHours: 1, usedCoreHours: cores, requestedGibHours: 2, usedGibHours: 2 * memory },
});
const parts = [
  { name: "env.greedy", use: measured(0.23, 0.41) },
  { name: "env.quick", use: { coreHours: 2, gibHours: 4 } },
  { name: "env.full", use: measured(0.95, 0.8) },
  { name: "env.idle", use: measured(0.04, 0.6) },
  { name: "…", use: measured(0.1, 0.1) },
];
const transport = createRouterTransport(({ service }) => {
  service(CostService, { getCosts: () => ({ parts, total: measured(0.33, 0.48), days: [{ coreHours: 1 }, measured(0.33, 0.48)] }) });
});

function open(search: Record<string, string> = {}) {
  at.search = search;
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Toasts>
            <CostsPage />
          </Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
}
afterEach(cleanup);

const row = async (name: string) => {
  const all = await screen.findAllByTestId("cost-row");
  const found = all.find((one) => one.dataset["name"] === name);
  if (!found) throw new Error(`no row ${name}`);
  return within(found);
};
const names = () => screen.getAllByTestId("cost-row").map((one) => one.dataset["name"]);

it("says what was used of what was requested, and how much was measured", async () => {
  open();
  const greedy = (await row("env.greedy")).getByText("23 % of cores, 41 % of memory");
  expect(greedy.title).toBe("50 % of the requested processor time was measured");
  expect((await row("env.quick")).getByTitle("Nothing of it was measured").textContent).toBe("–");
  expect(screen.getByTestId("cost-total").textContent).toContain("used: 33 % of cores, 48 % of memory");
  expect(screen.getByRole("img", { name: /1\.0 core-h; 2\.0 core-h, used: 33 % of cores, 48 % of memory$/ })).toBeTruthy();
});

it("leads from a task that uses little to what it could request", async () => {
  open();
  const link = async (name: string) => (await row(name)).queryByRole("link", { name: "What it could request" });
  expect((await link("env.greedy"))?.getAttribute("href")).toBe("/domain/d/project/p/tasks/env.greedy?tab=environment");
  expect(await link("env.idle")).toBeTruthy();
  expect(await link("env.full")).toBeNull();
  expect(await link("env.quick")).toBeNull();
  expect(await link("…")).toBeNull();
});

it("has no such link for runs", async () => {
  open({ by: "run" });
  expect((await row("env.greedy")).getByText("23 % of cores, 41 % of memory")).toBeTruthy();
  expect(screen.queryByRole("link", { name: "What it could request" })).toBeNull();
});

it("sorts by it, what used the least first and what was not measured last", async () => {
  open();
  await row("env.greedy");
  fireEvent.click(screen.getByRole("button", { name: "Used" }));
  expect(names()).toEqual(["env.idle", "…", "env.greedy", "env.full", "env.quick"]);
});
