import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ArtifactInsightService, GetLineageResponseSchema, LineageEdge_Kind } from "@gen/flytebinary/insight/v1/artifact_pb.js";
import { ArtifactSchema, type Artifact } from "@gen/flyteidl2/artifact/artifact_pb.js";
import {
  ArtifactService,
  ListArtifactNamesResponseSchema,
  ListArtifactsResponseSchema,
  type ListArtifactNamesRequest,
  type ListArtifactsRequest,
} from "@gen/flyteidl2/artifact/artifact_service_pb.js";
import { Toasts } from "@/design/toast";
import { ArtifactPage } from "./artifact-page";
import { ArtifactsPage } from "./page";

const at = vi.hoisted((): { search: { q?: string; version?: string } } => ({ search: {} }));
const navigate = vi.hoisted(() => vi.fn());
const server = vi.hoisted(() => ({ listArtifactNames: vi.fn(), listArtifacts: vi.fn(), getArtifact: vi.fn(), getLineage: vi.fn(), list: vi.fn() }));
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d", artifact: "model" }),
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

/** The fields of a message, but not a message. */
type Fields<S extends GenMessage<Message>> = Exclude<MessageInitShape<S>, Message>;
const version = (name: string, number: string, more: Fields<typeof ArtifactSchema> = {}): Artifact =>
  create(ArtifactSchema, { artifactId: { name: { project: "p", domain: "d", name }, version: number }, ...more });
const made: Fields<typeof ArtifactSchema> = {
  spec: {
    info: { description: "the best one", userMetadata: { accuracy: "0.9" } },
    partitions: { value: { region: { value: { case: "staticValue", value: "eu" } } } },
    source: {
      source: { case: "taskAction", value: { action: { run: { project: "p", domain: "d", name: "train-1" }, name: "a0" }, attempt: 1 } },
    },
  },
};
const node = (name: string, missing = false) => ({
  subject: { case: "artifact" as const, value: { name: { project: "p", domain: "d", name }, version: "7" } },
  missing,
});
const run = (name: string) => ({ subject: { case: "run" as const, value: { project: "p", domain: "d", name } } });
const user = (name: string) => ({ subject: { case: "app" as const, value: { project: "p", domain: "d", name } } });
const lineage = (more: Fields<typeof GetLineageResponseSchema> = {}) =>
  create(GetLineageResponseSchema, {
    nodes: [node("model"), run("train-1"), run("report-1"), node("raw", true), user("chat")],
    edges: [
      { from: 1, to: 0, kind: LineageEdge_Kind.PRODUCED },
      { from: 0, to: 2, kind: LineageEdge_Kind.USED, actions: [{ name: "a0", task: "main" }, { name: "e1", task: "evaluate" }] },
      { from: 3, to: 0, kind: LineageEdge_Kind.PARENT },
      { from: 0, to: 4, kind: LineageEdge_Kind.USED },
    ],
    ...more,
  });

function open(page: ReactNode) {
  const transport = createRouterTransport(({ service }) => {
    service(ArtifactService, { getArtifact: (request) => server.getArtifact(request) as never });
    service(ArtifactInsightService, { getLineage: (request) => server.getLineage(request) as never });
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
}

beforeEach(() => {
  at.search = {};
  server.listArtifactNames.mockImplementation(({ request }: ListArtifactNamesRequest) =>
    Promise.resolve(
      request?.token === ""
        ? create(ListArtifactNamesResponseSchema, { groups: [{ latest: version("model", "7", made), versions: 3n }], token: "next" })
        : create(ListArtifactNamesResponseSchema, { groups: [{ latest: version("report", "1"), versions: 1n }] }),
    ),
  );
  server.listArtifacts.mockImplementation(({ request }: ListArtifactsRequest) =>
    Promise.resolve(
      request?.token === ""
        ? create(ListArtifactsResponseSchema, { artifacts: [version("model", "7", made), version("model", "6")], token: "next" })
        : create(ListArtifactsResponseSchema, { artifacts: [version("model", "5")] }),
    ),
  );
  server.getArtifact.mockImplementation(({ version: number }: { readonly version: string }) => ({ artifact: version("model", number || "7", made) }));
  server.getLineage.mockImplementation(() => lineage());
  server.list.mockResolvedValue({ apps: [] }); // of AppService
});
afterEach(() => {
  cleanup();
  vi.resetAllMocks();
});

it("lists artifacts page by page, with their latest versions", async () => {
  open(<ArtifactsPage />);
  const row = await screen.findByTestId("artifact-row");
  for (const text of ["model", "the best one", "3", "7", "region=eu"]) expect(within(row).getByText(text)).toBeTruthy();
  expect(within(row).getByRole("link").getAttribute("href")).toBe("/domain/d/project/p/artifacts/model");
  fireEvent.click(screen.getByRole("button", { name: "More artifacts" }));
  await waitFor(() => expect(screen.getAllByTestId("artifact-row").map((each) => each.dataset["name"])).toEqual(["model", "report"]));
  expect(screen.queryByRole("button", { name: "More artifacts" })).toBeNull();
});

it("searches by name on the server, and says what was not found", async () => {
  at.search = { q: "mod" };
  server.listArtifactNames.mockResolvedValue(create(ListArtifactNamesResponseSchema));
  open(<ArtifactsPage />);
  expect(await screen.findByText("No artifacts match “mod”")).toBeTruthy();
  const [request] = server.listArtifactNames.mock.calls[0] as [ListArtifactNamesRequest];
  expect(request.request?.filters).toMatchObject([{ field: "name", values: ["mod"] }]);
  fireEvent.change(screen.getByLabelText("Find artifacts"), { target: { value: "" } });
  expect(navigate).toHaveBeenCalledWith(expect.objectContaining({ search: {}, replace: true }));
});

it("says how to create the first artifact", async () => {
  server.listArtifactNames.mockResolvedValue(create(ListArtifactNamesResponseSchema));
  open(<ArtifactsPage />);
  expect(await screen.findByText("No artifacts yet")).toBeTruthy();
  expect(screen.getByText(/flyte create artifact -p p -d d/)).toBeTruthy();
});

it("shows the latest version, what made it, and all versions", async () => {
  open(<ArtifactPage />);
  const details = within(await screen.findByRole("region", { name: "Version" }));
  for (const text of ["the best one", "region", "eu", "accuracy", "0.9"]) expect(details.getByText(text)).toBeTruthy();
  expect(details.getByText(/\(latest\)/)).toBeTruthy();
  expect(details.getByRole("link", { name: "run train-1, action a0" }).getAttribute("href")).toBe("/domain/d/project/p/runs/train-1?action=a0");

  expect(await screen.findByText("No app uses this version.")).toBeTruthy();
  expect(server.list).toHaveBeenCalledWith(expect.objectContaining({ filterBy: { case: "artifact", value: { project: "p", domain: "d", name: "model", version: "7" } } }), expect.anything());

  const versions = within(await screen.findByRole("table", { name: "Versions" }));
  expect(versions.getAllByRole("row").filter((row) => row.getAttribute("aria-current"))).toHaveLength(1);
  expect(versions.getByRole("link", { name: "6" }).getAttribute("href")).toBe("/domain/d/project/p/artifacts/model?version=6");
  fireEvent.click(screen.getByRole("button", { name: "More versions" }));
  expect(await versions.findByRole("link", { name: "5" })).toBeTruthy();
});

it("shows the version of the address, and a version that does not fit", async () => {
  at.search = { version: "6" };
  server.getArtifact.mockImplementation(() => ({
    artifact: version("model", "6", { partitionSchemaMismatch: { message: "the artifact has region, this version none" } }),
  }));
  open(<ArtifactPage />);
  expect((await screen.findByRole("note")).textContent).toContain("the artifact has region, this version none");
  expect(server.getArtifact).toHaveBeenCalledWith(expect.objectContaining({ version: "6" }));
  expect(screen.queryByText(/\(latest\)/)).toBeNull();
});

it("says that there is no such artifact", async () => {
  server.getArtifact.mockImplementation(() => {
    throw new ConnectError("there is no artifact model", Code.NotFound);
  });
  open(<ArtifactPage />);
  expect(await screen.findByText(/there is no artifact model/)).toBeTruthy();
  expect(server.getLineage).not.toHaveBeenCalled();
});

it("draws the lineage both ways, and lists it for those who cannot see the drawing", async () => {
  server.getLineage.mockImplementation(() => lineage({ truncated: true }));
  open(<ArtifactPage />);
  const graph = within(await screen.findByRole("group", { name: "Lineage" }));
  const nodes = graph.getAllByRole("link");
  expect(nodes.map((each) => each.getAttribute("href"))).toEqual([
    '/v2/domain/d/project/p/artifacts/model?version=%227%22',
    "/v2/domain/d/project/p/runs/train-1",
    "/v2/domain/d/project/p/runs/report-1",
    '/v2/domain/d/project/p/artifacts/raw?version=%227%22',
    "/v2/domain/d/project/p/apps/chat",
  ]);
  expect(nodes.map((each) => [each.dataset["chosen"], each.dataset["kind"], each.dataset["missing"]].join(" "))).toEqual([
    "true artifact false",
    "false run false",
    "false run false",
    "false artifact true",
    "false app false",
  ]);
  fireEvent.click(nodes[1] as HTMLElement);
  expect(navigate).toHaveBeenCalledWith({ href: "/v2/domain/d/project/p/runs/train-1" });
  expect(screen.getByText(/Not everything is shown/)).toBeTruthy();
  fireEvent.click(screen.getByText("Show as list"));
  expect(screen.getAllByRole("listitem").map((each) => each.textContent.includes("train-1"))).toContain(true);
  expect(nodes[2]?.textContent).toContain("run, by evaluate");
  expect(screen.getAllByRole("listitem").map((each) => each.textContent)).toContain("model 7 was used by chat app");
  expect(screen.getByRole("link", { name: "evaluate" }).getAttribute("href")).toBe("/v2/domain/d/project/p/runs/report-1?action=%22e1%22");
});

it("says that a version has no lineage", async () => {
  server.getLineage.mockImplementation(() => lineage({ nodes: [node("model")], edges: [] }));
  open(<ArtifactPage />);
  expect(await screen.findByText("No lineage recorded for this version.")).toBeTruthy();
});
