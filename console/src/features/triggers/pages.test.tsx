import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SlotState, SummarizeTriggersResponseSchema } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { TriggerAutomationSpecType } from "@gen/flyteidl2/task/common_pb.js";
import { ListTriggersResponseSchema, TriggerService, type DeleteTriggersRequest, type UpdateTriggersRequest } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { CreateRunResponseSchema, RunService, type CreateRunRequest } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { Toasts } from "@/design/toast";
import { TriggerActions } from "./actions";
import { TriggersPage } from "./page";
import type { TriggersSearch } from "./search";

const at = vi.hoisted((): { search: TriggersSearch } => ({ search: {} }));
const navigate = vi.hoisted(() => vi.fn());
const server = vi.hoisted(() => ({ listTriggers: vi.fn(), summarizeTriggers: vi.fn() }));
vi.mock("@/api/transport", () => ({ client: () => server, binaryClient: () => server }));
vi.mock("@/entities/access/use-denied", () => ({ useDenied: () => undefined }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d" }),
  useSearch: () => at.search,
  useNavigate: () => navigate,
  Link: ({ to, params, children, title }: LinkProps) => (
    <a href={to.replaceAll(/\$(\w+)/g, (_, key: string) => params[key] ?? "")} title={title}>
      {children}
    </a>
  ),
}));
interface LinkProps {
  readonly to: string;
  readonly params: Record<string, string>;
  readonly title?: string;
  readonly children: ReactNode;
}

const id = { org: "flyte", project: "p", domain: "d", taskName: "env.main", name: "nightly" };
const triggers = create(ListTriggersResponseSchema, {
  triggers: [
    {
      id: { name: id, revision: 1n },
      active: true,
      status: { deployedAt: { seconds: 1n } },
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- another case of the oneof is deprecated, not cron
      automationSpec: { type: TriggerAutomationSpecType.TYPE_SCHEDULE, automation: { case: "schedule", value: { expression: { case: "cron", value: { expression: "0 9 * * 1", timezone: "UTC" } } } } },
    },
    { id: { name: { ...id, name: "by-hand" }, revision: 1n }, active: false, automationSpec: { type: TriggerAutomationSpecType.TYPE_NONE }, status: { deployedAt: { seconds: 1n } } },
  ],
});
const summaries = create(SummarizeTriggersResponseSchema, {
  summaries: [
    {
      trigger: { taskName: "env.main", name: "nightly" },
      next: { seconds: 4_000_000_000n },
      latest: [
        { slot: { state: SlotState.STARTED, runId: { org: "flyte", project: "p", domain: "d", name: "newest" } }, phase: ActionPhase.FAILED },
        { slot: { state: SlotState.STARTED, time: { seconds: 1n } }, phase: ActionPhase.UNSPECIFIED },
      ],
    },
  ],
});

interface Changes {
  readonly updated: UpdateTriggersRequest[];
  readonly removed: DeleteTriggersRequest[];
  readonly started: CreateRunRequest[];
}

function open(page: ReactNode, fail?: ConnectError): Changes {
  const changes: Changes = { updated: [], removed: [], started: [] };
  const keep = <T,>(list: T[], request: T) => {
    if (fail) throw fail;
    list.push(request);
  };
  const transport = createRouterTransport(({ service }) => {
    service(TriggerService, {
      updateTriggers: (request) => (keep(changes.updated, request), {}),
      deleteTriggers: (request) => (keep(changes.removed, request), {}),
    });
    service(RunService, {
      createRun: (request) => (keep(changes.started, request), create(CreateRunResponseSchema, { run: { action: { id: { run: { name: "fired" } } } } })),
    });
  });
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Toasts>{page}</Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
  return changes;
}

beforeEach(() => {
  at.search = {};
  server.listTriggers.mockResolvedValue(triggers);
  server.summarizeTriggers.mockResolvedValue(summaries);
});
afterEach(() => {
  cleanup();
  vi.clearAllMocks();
});

it("lists triggers with their next run and how the latest ended", async () => {
  open(<TriggersPage />);
  const rows = await screen.findAllByTestId("trigger-row");
  expect(rows.map((row) => row.dataset["name"])).toEqual(["nightly", "by-hand"]);
  const [nightly, byHand] = rows.map((row) => within(row));
  expect(nightly?.getByText("0 9 * * 1 (UTC)")).toBeDefined();
  expect(nightly?.getByText("Enabled")).toBeDefined();
  expect(await nightly?.findByTitle("newest")).toBeDefined();
  expect(nightly?.getByText("Deleted"), "its run is gone").toBeDefined();
  expect(nightly?.getByRole("link", { name: "nightly" }).getAttribute("href")).toBe("/domain/d/project/p/triggers/env.main/nightly");
  expect(byHand?.getByText("manual")).toBeDefined();
  expect(byHand?.getByText("Disabled")).toBeDefined();
  expect(byHand?.getAllByText("–")).toHaveLength(2);
  expect(server.summarizeTriggers.mock.calls[0]?.[0]).toMatchObject({ projectId: { name: "p", domain: "d" }, triggers: [{ name: "nightly" }, { name: "by-hand" }] });
});

it("asks the server for what the address says, and keeps filters in the address", async () => {
  at.search = { q: "night", active: true };
  open(<TriggersPage />);
  await screen.findAllByTestId("trigger-row");
  const { filters } = (server.listTriggers.mock.calls[0]?.[0] as { request: { filters: { field: string }[] } }).request;
  expect(filters).toHaveLength(2);
  fireEvent.change(screen.getByLabelText("Kind"), { target: { value: "schedule" } });
  expect(navigate).toHaveBeenLastCalledWith(expect.objectContaining({ search: { q: "night", active: true, kind: "schedule" } }));
  fireEvent.change(screen.getByLabelText("State"), { target: { value: "" } });
  expect(navigate).toHaveBeenLastCalledWith(expect.objectContaining({ search: { q: "night" } }));
});

it("has a command where there is nothing, which filters do not offer", async () => {
  server.listTriggers.mockResolvedValue(create(ListTriggersResponseSchema));
  open(<TriggersPage />);
  expect(await screen.findByText("No triggers deployed yet")).toBeDefined();
  expect(screen.getByText(/flyte deploy -p p -d d first_trigger.py/)).toBeDefined();
  cleanup();
  at.search = { q: "other" };
  open(<TriggersPage />);
  expect(await screen.findByText("No triggers match")).toBeDefined();
});

it("shows triggers though their summaries cannot be read", async () => {
  server.summarizeTriggers.mockRejectedValue(new ConnectError("away", Code.Unavailable));
  open(<TriggersPage />);
  const [row] = await screen.findAllByTestId("trigger-row");
  expect(within(row as HTMLElement).getAllByText("–")).toHaveLength(2);
});

it("disables, runs and deletes a trigger", async () => {
  const changed = vi.fn();
  const changes = open(<TriggerActions id={id} active onChange={changed} />);
  fireEvent.click(screen.getByRole("button", { name: "Disable" }));
  await waitFor(() => expect(changed).toHaveBeenCalled());
  expect(changes.updated[0]).toMatchObject({ names: [{ name: "nightly", taskName: "env.main" }], active: false });
  fireEvent.click(screen.getByRole("button", { name: "Run now" }));
  await waitFor(() => expect(navigate).toHaveBeenCalledWith(expect.objectContaining({ params: { domain: "d", project: "p", run: "fired" } })));
  expect(changes.started[0]?.task).toMatchObject({ case: "triggerName", value: { name: "nightly" } });
  fireEvent.click(screen.getByRole("button", { name: "Delete" }));
  expect(changes.removed, "not before it is confirmed").toHaveLength(0);
  const dialog = within(await screen.findByRole("dialog"));
  fireEvent.click(dialog.getByRole("button", { name: /Delete/ }));
  await waitFor(() => expect(changes.removed).toHaveLength(1));
});

it("says why a change was refused", async () => {
  const changes = open(<TriggerActions id={id} active={false} onChange={vi.fn()} />, new ConnectError("the task is gone", Code.FailedPrecondition));
  fireEvent.click(screen.getByRole("button", { name: "Enable" }));
  expect(await screen.findByText(/the task is gone/)).toBeDefined();
  expect(changes.updated).toHaveLength(0);
});
