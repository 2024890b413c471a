import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { Toasts } from "@/design/toast";
import { RunsPage } from "./page";
import type { Runs } from "./use-runs";

const at = vi.hoisted(() => ({ place: { project: "", domain: "" }, search: {} }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => at.place,
  useSearch: () => at.search,
  useNavigate: () => vi.fn(),
  Link: ({ to, children }: { readonly to: string; readonly children: ReactNode }) => <a href={to}>{children}</a>,
}));
// An unknown project has an empty list and a working stream.
vi.mock("./use-all-runs", () => ({
  useAllRuns: (): Partial<Runs> => ({ runs: [], live: true, loading: false, problem: undefined, more: false }),
}));
vi.mock("./paused-banner", () => ({ PausedBanner: () => null }));
vi.mock("./filter-bar", () => ({ FilterBar: () => null }));
vi.mock("./selection-bar", () => ({ SelectionBar: () => null }));

const transport = createRouterTransport(({ service }) => {
  service(ProjectService, {
    getProject: ({ id }) => {
      if (id !== "kitchen") throw new ConnectError("no such project", Code.NotFound);
      return { project: { id, domains: [{ id: "development" }] } };
    },
  });
});

function open(project: string, domain: string, search = {}) {
  at.place = { project, domain };
  at.search = search;
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Toasts>
            <RunsPage />
          </Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
}

afterEach(cleanup);

it("says how to start the first run of a project", async () => {
  open("kitchen", "development");
  expect(await screen.findByText("flyte run -p kitchen -d development hello")).toBeTruthy();
  expect(screen.getByTestId("live")).toBeTruthy();
});

it("does not offer a run in a project or domain that does not exist", async () => {
  open("nope", "development");
  expect(await screen.findByText("There is no project nope")).toBeTruthy();
  expect(screen.getByRole("link", { name: "all projects" }).getAttribute("href")).toBe("/");
  cleanup();
  open("kitchen", "moon");
  expect(await screen.findByText("Project kitchen has no domain moon")).toBeTruthy();
  expect(screen.queryByText(/flyte run/)).toBeNull();
});

it("is not live in a project that does not exist", async () => {
  for (const search of [{}, { query: "train" }]) {
    open("nope", "development", search);
    expect(await screen.findByText("There is no project nope")).toBeTruthy();
    expect(screen.queryByTestId("live")).toBeNull();
    cleanup();
  }
});
