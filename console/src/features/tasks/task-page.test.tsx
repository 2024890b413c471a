import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { Toasts } from "@/design/toast";
import { TaskPage } from "./task-page";

const at = vi.hoisted((): { params: Record<string, string>; tab?: string } => ({ params: {} }));
const server = vi.hoisted(() => ({ listRuns: vi.fn(), getActionDetails: vi.fn() }));
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("./runs", () => ({ TaskRuns: () => <p>its runs</p> }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => at.params,
  useSearch: () => (at.tab === undefined ? {} : { tab: at.tab }),
  useNavigate: () => vi.fn(),
  Link: ({ to, params, children }: { readonly to: string; readonly params: Record<string, string>; readonly children: ReactNode }) => (
    <a href={to.replaceAll(/\$(\w+)/g, (_, key: string) => params[key] ?? "")}>{children}</a>
  ),
}));

let deployed: readonly string[];
const transport = createRouterTransport(({ service }) => {
  service(TaskService, {
    listVersions: () => ({ versions: deployed.map((version) => ({ version })) }),
    getTaskDetails: ({ taskId }) => {
      if (!deployed.includes(taskId?.version ?? "")) throw new ConnectError("no such task", Code.NotFound);
      return { details: { metadata: { environmentName: "kitchen" }, spec: {} } };
    },
  });
});

function open(version?: string, tab?: string) {
  at.params = { project: "p", domain: "d", task: "env.main", ...(version !== undefined && { version }) };
  if (tab === undefined) delete at.tab;
  else at.tab = tab;
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Toasts>
            <TaskPage />
          </Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
}

/** A run that brought its task, as `flyte run` does. */
function ran() {
  server.listRuns.mockResolvedValue({ runs: [{ action: { id: { name: "a0", run: { project: "p", domain: "d", name: "r1" } } } }] });
  server.getActionDetails.mockResolvedValue({
    details: { spec: { case: "task", value: { $typeName: "flyteidl2.task.TaskSpec", shortName: "main", environment: { name: "kitchen" } } } },
  });
}

const tabs = () => screen.getAllByRole("tab").map((tab) => tab.textContent);
const launch = () => screen.queryByRole("link", { name: "Launch" });

beforeEach(() => {
  deployed = [];
  server.listRuns.mockReset().mockResolvedValue({ runs: [] });
  server.getActionDetails.mockReset();
});
afterEach(cleanup);

it("launches a task that is deployed", async () => {
  deployed = ["v2", "v1"];
  open();
  expect(await screen.findByRole("link", { name: "Launch" })).toBeTruthy();
  expect(tabs()).toHaveLength(6);
  expect(server.listRuns).not.toHaveBeenCalled();
});

it("says that a task came with a run, and shows what the run knows", async () => {
  ran();
  open(undefined, "environment");
  expect(await screen.findByText("This task is not deployed")).toBeTruthy();
  expect(screen.getByRole("link", { name: "r1" }).getAttribute("href")).toBe("/domain/d/project/p/runs/r1");
  expect(tabs()).toEqual(["Runs and history", "Actions", "Pipeline", "Interface", "Environment", "Versions"]);
  expect(screen.getByRole("tabpanel").textContent).toContain("kitchen");
  expect(launch()).toBeNull();
  expect(screen.queryByRole("alert")).toBeNull();
});

it("says so of a version, and names the versions that are deployed", async () => {
  deployed = ["v2"];
  ran();
  open("b8f2506");
  expect(await screen.findByText("This version is not deployed")).toBeTruthy();
  expect(screen.getByRole("link", { name: "Deployed versions of this task" }).getAttribute("href")).toBe("/domain/d/project/p/tasks/env.main");
  expect(launch()).toBeNull();
  expect(server.listRuns).toHaveBeenCalledWith(expect.objectContaining({ scopeBy: expect.objectContaining({ case: "taskId" }) as unknown }), expect.anything());
});

it("does not offer to launch a task that nothing knows", async () => {
  open();
  expect(await screen.findByText(/There is no task/)).toBeTruthy();
  expect(screen.queryByRole("tab")).toBeNull();
  expect(launch()).toBeNull();
});
