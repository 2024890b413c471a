import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AppInsightService, AppRevisionState, ExplainAppResponseSchema, ListRevisionsResponseSchema } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { Spec_DesiredState, Status_DeploymentStatus as Deployment, Status_Substate as Substate, type App } from "@gen/flyteidl2/app/app_definition_pb.js";
import { ListResponseSchema, WatchResponseSchema, type ListRequest, type UpdateRequest, type WatchResponse } from "@gen/flyteidl2/app/app_payload_pb.js";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { IdentityService } from "@gen/flyteidl2/auth/identity_pb.js";
import { Toasts } from "@/design/toast";
import { AppPage } from "./app-page";
import { appOf, batchOf, specOf, type Fields } from "./apps.fixture";
import { Consumers } from "./consumers";
import { AppsPage } from "./page";
import type { AppSearch, AppsSearch } from "./search";

const at = vi.hoisted((): { search: AppsSearch & AppSearch } => ({ search: {} }));
const navigate = vi.hoisted(() => vi.fn());
const server = vi.hoisted(() => ({
  list: vi.fn(),
  watch: vi.fn(),
  get: vi.fn(),
  update: vi.fn(),
  delete: vi.fn(),
  explainApp: vi.fn(),
  listRevisions: vi.fn(),
  rollBack: vi.fn(),
  listAppEvents: vi.fn(),
  tailLogs: vi.fn(),
  getProject: vi.fn(),
}));
vi.mock("@/api/transport", () => ({ client: () => server, binaryClient: () => server }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d", app: "hello" }),
  useSearch: () => at.search,
  useNavigate: () => navigate,
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

/** Streams these messages, and those that are sent later, until it is aborted. */
function stream(...first: WatchResponse[]) {
  const waiting = [...first];
  let wake = () => {};
  async function* generate(signal: AbortSignal): AsyncGenerator<WatchResponse> {
    signal.addEventListener("abort", () => wake());
    while (!signal.aborted) {
      const next = waiting.shift();
      if (next) yield next;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  return {
    send: (message: WatchResponse) => {
      waiting.push(message);
      wake();
    },
    open: (_: unknown, { signal }: { readonly signal: AbortSignal }) => generate(signal),
  };
}
const created = (app: App) => create(WatchResponseSchema, { event: { case: "createEvent", value: { app } } });
const updated = (updatedApp: App) => create(WatchResponseSchema, { event: { case: "updateEvent", value: { updatedApp } } });
const deleted = (app: App) => create(WatchResponseSchema, { event: { case: "deleteEvent", value: { app } } });

const explanation = (app: App, more: Fields<typeof ExplainAppResponseSchema> = {}) =>
  create(ExplainAppResponseSchema, { serving: 1n, wanted: 1, ...more, app });

const queries = () => new QueryClient({ defaultOptions: { queries: { retry: false } } });
function open(page: ReactNode) {
  const transport = createRouterTransport(({ service }) => {
    service(AppInsightService, { explainApp: (request) => server.explainApp(request) as never });
    service(ProjectService, { getProject: () => server.getProject() as never });
    service(IdentityService, { userInfo: () => ({ subject: "ada" }) });
  });
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={queries()}>
        <Tooltip.Provider>
          <Toasts>{page}</Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
}
const dialog = () => within(screen.getByRole("dialog"));
const rows = () => screen.getAllByTestId("app-row").map((row) => row.dataset["name"]);

beforeEach(() => {
  at.search = {};
  vi.stubGlobal("ResizeObserver", class { observe() {} unobserve() {} disconnect() {} });
  server.list.mockResolvedValue(create(ListResponseSchema));
  server.watch.mockImplementation(stream().open);
  server.explainApp.mockImplementation(() => explanation(appOf("hello")));
  server.getProject.mockReturnValue({ project: { id: "p", domains: [{ id: "d" }] } });
  server.update.mockResolvedValue({});
  server.delete.mockResolvedValue({});
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.resetAllMocks();
});

it("lists apps page by page, newest first", async () => {
  server.list.mockImplementation(({ request }: ListRequest) =>
    Promise.resolve(
      create(
        ListResponseSchema,
        request?.token === ""
          ? { apps: [appOf("chat", { minute: 2, revision: 4n, spec: { profile: { shortDescription: "talks" } } })], token: "next" }
          : { apps: [appOf("old", { minute: 1, status: Deployment.FAILED, substate: Substate.CRASH_LOOP })] },
      ),
    ),
  );
  open(<AppsPage />);
  const row = within(await screen.findByTestId("app-row"));
  for (const text of ["talks", "Active", "of 0 to 3", "4", "Ada"]) expect(row.getByText(text)).toBeTruthy();
  expect(row.getByRole("link", { name: "chat" }).getAttribute("href")).toBe("/domain/d/project/p/apps/chat");
  expect(row.getByRole("link", { name: /opens in a new tab/ }).getAttribute("href")).toBe("http://localhost:8088/apps/p/d/chat");
  fireEvent.click(screen.getByRole("button", { name: "More apps" }));
  await waitFor(() => expect(rows()).toEqual(["chat", "old"]));
  expect(screen.getByText("crashes repeatedly")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "More apps" })).toBeNull();
});

it("follows the stream: apps come, change and go", async () => {
  server.list.mockResolvedValue(create(ListResponseSchema, { apps: [appOf("a", { minute: 1 }), appOf("b", { minute: 2 })] }));
  const events = stream(created(appOf("a", { minute: 1 })));
  server.watch.mockImplementation(events.open);
  open(<AppsPage />);
  await waitFor(() => expect(rows()).toEqual(["b", "a"]));
  expect(await screen.findByText("Live")).toBeTruthy();
  events.send(created(appOf("c", { minute: 3, status: Deployment.DEPLOYING, substate: Substate.PULLING_IMAGE })));
  events.send(deleted(appOf("b")));
  await waitFor(() => expect(rows()).toEqual(["c", "a"]));
  expect(screen.getByText("pulling the image")).toBeTruthy();
});

it("is not live in a project that does not exist", async () => {
  server.getProject.mockImplementation(() => {
    throw new ConnectError("no such project", Code.NotFound);
  });
  server.watch.mockImplementation(stream(create(WatchResponseSchema)).open);
  open(<AppsPage />);
  expect(await screen.findByText("There is no project p")).toBeTruthy();
  expect(screen.queryByText("Live")).toBeNull();
  expect(screen.queryByText("No apps yet")).toBeNull();
});

it("asks the server for what the filters say, and changes them", async () => {
  at.search = { q: "cha", state: "failed", owner: "me" };
  open(<AppsPage />);
  expect(await screen.findByText("No apps match")).toBeTruthy();
  const [request] = server.list.mock.calls.at(-1) as [ListRequest];
  expect(request.request?.filters.map(({ field, values }) => [field, ...values])).toEqual([
    ["name", "cha"],
    ["status_phase", "DEPLOYMENT_STATUS_FAILED"],
    ["created_by", "ada"],
  ]);
  fireEvent.change(screen.getByLabelText("State"), { target: { value: "" } });
  expect(navigate).toHaveBeenCalledWith(expect.objectContaining({ search: { q: "cha", owner: "me" }, replace: true }));
});

it("says how to deploy the first app, and what went wrong", async () => {
  open(<AppsPage />);
  expect(await screen.findByText("No apps yet")).toBeTruthy();
  expect(screen.getByText(/^flyte serve -p \S+ -d \S+ hello$/)).toBeTruthy();
  cleanup();
  server.list.mockRejectedValue(new ConnectError("the database is away", Code.Internal));
  open(<AppsPage />);
  expect((await screen.findByRole("alert")).textContent).toContain("the database is away");
});

it("shows a failed app: why, what to do, its replicas and its load", async () => {
  const failed = appOf("hello", {
    ...{ status: Deployment.FAILED, substate: Substate.IMAGE_PULL_ERROR, revision: 2n },
    spec: { links: [{ path: "/docs", title: "Docs", isRelative: true }] },
  });
  server.explainApp.mockImplementation(() =>
    explanation(failed, {
      summary: "Revision 2 cannot start; revision 1 serves.",
      advice: "Correct the image.",
      wantedBecause: "the minimum",
      hostUrl: "http://hello-1.localhost:8088",
      replicas: [
        { name: "hello-1-a", revision: 1n, ready: true, node: "node-1" },
        { name: "hello-2-b", revision: 2n, phase: "ImagePullBackOff", reason: "no such image", restarts: 3 },
      ],
      traffic: [
        {
          ...{ start: { seconds: 60n }, length: { seconds: 30n }, requests: 60n, errors: 6n, replicas: 1 },
          ...{ p50: { nanos: 4_000_000 }, p99: { nanos: 9_000_000 } },
        },
      ],
      uses: [{ input: "model", used: { case: "artifactUri", value: "flyte://artifacts/p/d/model@v1" } }],
    }),
  );
  open(<AppPage />);
  expect(await screen.findByText("Revision 2 cannot start; revision 1 serves.")).toBeTruthy();
  expect(screen.getByText("Failed", { selector: "span" })).toBeTruthy();
  for (const text of ["cannot pull the image", "Correct the image.", "revision 1", "1 of 0 to 3: the minimum"]) expect(screen.getByText(text)).toBeTruthy();
  expect(screen.getByRole("link", { name: /^Open/ }).getAttribute("href")).toBe("http://hello-1.localhost:8088");
  expect(screen.getByRole("link", { name: /^Docs/ }).getAttribute("href")).toBe("http://hello-1.localhost:8088/docs");
  const replicas = within(screen.getByRole("table", { name: "Replicas" }));
  for (const text of ["Ready", "ImagePullBackOff", "no such image"]) expect(replicas.getByText(text)).toBeTruthy();
  expect(screen.getByText("60 requests in the last half hour, 6 failed.")).toBeTruthy();
  expect(screen.getByRole("img", { name: "Requests per second: at most 2, 6 failed" })).toBeTruthy();
  expect(within(screen.getByRole("group", { name: "Traffic", hidden: true })).getAllByRole("cell", { hidden: true }).map((cell) => cell.textContent)).toEqual(["60", "6", "4 ms", "9 ms", expect.any(String), "1"]);
  expect(screen.getByRole("link", { name: "artifact model@v1" }).getAttribute("href")).toBe("/domain/d/project/p/artifacts/model?version=v1");
  fireEvent.click(replicas.getByRole("button", { name: "Log of hello-2-b" }));
  expect(navigate).toHaveBeenCalledWith(expect.objectContaining({ search: { tab: "logs", replica: "hello-2-b" } }));
});

it("follows the app, and says when it was deleted", async () => {
  const events = stream(created(appOf("hello", { status: Deployment.DEPLOYING, substate: Substate.INITIALIZING })));
  server.watch.mockImplementation(events.open);
  open(<AppPage />);
  expect(await screen.findByText("Deploying")).toBeTruthy();
  events.send(updated(appOf("hello", { substate: Substate.SCALED_TO_ZERO })));
  expect(await screen.findByText("Scaled to zero")).toBeTruthy();
  events.send(deleted(appOf("hello")));
  expect(await screen.findByText("App hello was deleted")).toBeTruthy();
});

it("says that there is no such app", async () => {
  server.explainApp.mockImplementation(() => {
    throw new ConnectError("there is no app hello", Code.NotFound);
  });
  open(<AppPage />);
  expect(await screen.findByText(/there is no app hello/)).toBeTruthy();
  expect(screen.queryByRole("tablist")).toBeNull();
  expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
});

it("stops an app after a question, with the rest of its spec as the server has it", async () => {
  server.get.mockResolvedValue({ app: appOf("hello", { revision: 7n }) });
  server.update.mockRejectedValueOnce(new ConnectError("it changed", Code.Aborted));
  open(<AppPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Stop" }));
  expect(server.update).not.toHaveBeenCalled();
  fireEvent.click(dialog().getByRole("button", { name: "Stop" }));
  expect(await dialog().findByText("it changed")).toBeTruthy();
  fireEvent.click(dialog().getByRole("button", { name: "Stop" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  const [{ app, reason }] = server.update.mock.calls.at(-1) as [UpdateRequest];
  expect(app).toMatchObject({ metadata: { revision: 7n }, spec: { ...specOf(), desiredState: Spec_DesiredState.STOPPED } });
  expect(reason).toBe("Stopped from the console");
});

it("starts a stopped app", async () => {
  const stopped = appOf("hello", { status: Deployment.STOPPED, spec: { desiredState: Spec_DesiredState.STOPPED } });
  server.explainApp.mockImplementation(() => explanation(stopped));
  server.get.mockResolvedValue({ app: stopped });
  open(<AppPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Start" }));
  await waitFor(() => expect(server.update).toHaveBeenCalled());
  expect((server.update.mock.calls[0] as [UpdateRequest])[0].app?.spec?.desiredState).toBe(Spec_DesiredState.ACTIVE);
});

it("deletes an app after a question, which the keyboard can answer", async () => {
  open(<AppPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Delete" }));
  fireEvent.keyDown(screen.getByRole("dialog"), { key: "Escape" });
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(server.delete).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: "Delete" }));
  fireEvent.click(dialog().getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(navigate).toHaveBeenCalledWith({ to: "/domain/$domain/project/$project/apps", params: { project: "p", domain: "d" } }));
  expect(server.delete).toHaveBeenCalledWith({ appId: { org: "flyte", project: "p", domain: "d", name: "hello" } });
});

const revisions = () =>
  create(ListRevisionsResponseSchema, {
    revisions: [
      { revision: 3n, spec: specOf({ autoscaling: { replicas: { min: 1, max: 1 } } }), state: AppRevisionState.FAILED, message: "the port is closed" },
      { revision: 2n, spec: specOf(), state: AppRevisionState.SERVING, reason: "a new model", restores: 1n },
      { revision: 1n, spec: specOf(), state: AppRevisionState.REPLACED },
    ],
  });

it("lists revisions with what they changed, and rolls back", async () => {
  at.search = { tab: "revisions" };
  server.listRevisions.mockResolvedValue(revisions());
  server.rollBack.mockResolvedValue({ app: appOf("hello", { revision: 4n }) });
  open(<AppPage />);
  const [newest, serving] = (await screen.findAllByTestId("app-revision")).map((item) => within(item));
  for (const text of ["Failed", "the port is closed", "Changed: scaling"]) expect(newest?.getByText(text)).toBeTruthy();
  for (const text of ["Serving", "a new model", "restores revision 1", "No changes"]) expect(serving?.getByText(text)).toBeTruthy();
  expect(newest?.queryByRole("button")).toBeNull();

  fireEvent.click(screen.getByRole("button", { name: "Roll back to revision 2" }));
  expect(dialog().getByText(/Revision 2 keeps serving until it is ready/)).toBeTruthy();
  expect((await dialog().findByTestId("diff")).textContent).not.toContain("s3cr3t");
  fireEvent.change(dialog().getByLabelText("Reason"), { target: { value: "it worked" } });
  fireEvent.click(dialog().getByRole("button", { name: "Roll back" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(server.rollBack).toHaveBeenCalledWith({ appId: { org: "flyte", project: "p", domain: "d", name: "hello" }, revision: 2n, reason: "it worked" });
  expect((await screen.findAllByText("Revision 4 restores revision 2")).length).toBeGreaterThan(0);
});

it("shows what an app declares, without what may be secret", async () => {
  at.search = { tab: "settings" };
  const app = appOf("hello", {
    spec: {
      securityContext: { secrets: [{ key: "db", envVar: "DB" }] },
      inputs: {
        items: [
          { name: "model", value: { case: "artifactId", value: { key: { project: "p", domain: "d", name: "model" }, version: "v1" } } },
          { name: "backend", value: { case: "appId", value: { project: "p", domain: "d", name: "other" } } },
          { name: "password", value: { case: "stringValue", value: "in-an-input" } },
          { name: "data", value: { case: "stringValue", value: "s3://bucket/out" } },
        ],
      },
    },
  });
  server.explainApp.mockImplementation(() => explanation(app, { uses: [{ input: "password", used: { case: "value", value: "in-an-input" } }] }));
  open(<AppPage />);
  const inputs = within(await screen.findByRole("region", { name: "Inputs" }));
  expect(inputs.getByRole("link", { name: "artifact model@v1" })).toBeTruthy();
  expect(inputs.getByRole("link", { name: "app other" }).getAttribute("href")).toBe("/domain/d/project/p/apps/other");
  expect(inputs.getByText("s3://bucket/out")).toBeTruthy();
  for (const text of ["registry.example/hello:1", "db, as environment variable DB", "fast"]) expect(screen.getByText(text)).toBeTruthy();
  expect(document.body.textContent).not.toMatch(/s3cr3t|in-an-input/);
});

it("reads the log of a replica, and offers those of others", async () => {
  at.search = { tab: "logs", replica: "hello-1-a" };
  server.explainApp.mockImplementation(() => explanation(appOf("hello"), { replicas: [{ name: "hello-1-a", revision: 1n }, { name: "hello-0-z", gone: true }] }));
  const replicaId = { appId: { project: "p", domain: "d", name: "hello" }, name: "hello-1-a" };
  server.tailLogs.mockImplementation(async function* (_: unknown, { signal }: { readonly signal: AbortSignal }) {
    yield batchOf({ replicaId, structuredLines: [{ message: "one" }, { message: "two" }] });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  });
  open(<AppPage />);
  await waitFor(() => expect(screen.getByTestId("log").dataset["lines"]).toBe("2"));
  expect(screen.getByText("2 lines, live")).toBeTruthy();
  expect(server.tailLogs.mock.calls[0]?.[0]).toMatchObject({ target: { case: "replicaId", value: { name: "hello-1-a" } } });
  fireEvent.change(screen.getByLabelText("Replicas"), { target: { value: "hello-0-z" } });
  expect(navigate).toHaveBeenCalledWith(expect.objectContaining({ search: { tab: "logs", replica: "hello-0-z" } }));
});

it("shows the history, and who did what", async () => {
  at.search = { tab: "history" };
  server.listAppEvents.mockResolvedValue({
    events: [
      { seq: 2n, status: Deployment.ACTIVE, substate: Substate.RUNNING, revision: 1n, message: "a replica is ready" },
      { seq: 1n, status: Deployment.PENDING, substate: 0, revision: 1n, message: "created", actor: specOf().creator },
    ],
    token: "",
  });
  open(<AppPage />);
  const history = within(await screen.findByRole("table", { name: "History" }));
  for (const text of ["a replica is ready", "the system", "Pending", "Ada"]) expect(history.getByText(text)).toBeTruthy();
});

it("lists the apps that use a version of an artifact", async () => {
  server.list.mockResolvedValue(create(ListResponseSchema, { apps: [appOf("chat")] }));
  open(<Consumers place={{ project: "p", domain: "d" }} name="model" version="v1" />);
  expect((await screen.findByRole("link", { name: "chat" })).getAttribute("href")).toBe("/domain/d/project/p/apps/chat");
  expect((server.list.mock.calls[0] as [ListRequest])[0].filterBy).toMatchObject({ case: "artifact", value: { name: "model", version: "v1" } });
  cleanup();
  server.list.mockRejectedValue(new ConnectError("none", Code.Unimplemented));
  open(<Consumers place={{ project: "p", domain: "d" }} name="model" version="v1" />);
  expect(await screen.findByText("This server has no apps.")).toBeTruthy();
});
