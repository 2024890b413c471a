import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { GetMeResponseSchema } from "@gen/flytebinary/access/v1/access_pb.js";
import {
  AddClusterResponseSchema,
  ClusterEventKind,
  ClusterHealth,
  ClusterSchema,
  GetClusterResponseSchema,
  IssueCredentialResponseSchema,
  ListClusterEventsResponseSchema,
  ListClustersResponseSchema,
} from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { ListResponseSchema } from "@gen/flyteidl2/app/app_payload_pb.js";
import { ListPoolsResponseSchema } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { GetClusterUseResponseSchema, ListClusterWaitsResponseSchema } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { Toasts } from "@/design/toast";
import { ClusterPage } from "./cluster-page";
import { ClustersPage } from "./page";

const server = vi.hoisted(() => ({
  getMe: vi.fn(),
  listGivers: vi.fn(),
  listClusters: vi.fn(),
  addCluster: vi.fn(),
  issueCredential: vi.fn(),
  revokeCredential: vi.fn(),
  removeCluster: vi.fn(),
  updateCluster: vi.fn(),
  getCluster: vi.fn(),
  cordonCluster: vi.fn(),
  drainCluster: vi.fn(),
  list: vi.fn(),
  listPools: vi.fn(),
  listClusterEvents: vi.fn(),
  listClusterWaits: vi.fn(),
}));
const use = vi.hoisted(() => ({ answer: vi.fn<() => unknown>() }));
vi.mock("@connectrpc/connect-query", () => ({ useQuery: () => ({ data: use.answer(), error: null, refetch: vi.fn() }) }));
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d", cluster: "east" }),
  useSearch: () => ({}),
  useNavigate: () => vi.fn(),
  Link: ({ children }: { readonly children: ReactNode }) => <a href="#there">{children}</a>,
}));

const open = (page: ReactNode = <ClustersPage />) =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Tooltip.Provider>
        <Toasts>
          {page}
        </Toasts>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
const meWith = (permissions: readonly string[]) =>
  create(GetMeResponseSchema, { subject: "ada", name: "Ada", grants: [{ scope: {}, roles: ["operator"], permissions: [...permissions] }] });
const connected = {
  name: "east",
  createdBy: "ada",
  health: ClusterHealth.CONNECTED,
  seenAt: { seconds: 1n },
  state: 1,
  credentials: [
    { id: "cred-old", hint: "aaaa", revokedAt: { seconds: 1n } },
    { id: "cred-new", hint: "bbbb" },
  ],
};
const idle = create(ClusterSchema, connected);
const busy = create(ClusterSchema, {
  ...connected,
  work: { actions: 3, pending: 1, workers: 1 },
  capacity: { cpu: 8000n, pods: 110n },
  free: { cpu: 2500n },
  largest: { cpu: 4000n },
});
const dialog = () => within(screen.getByRole("dialog"));
const press = (name: string) => fireEvent.click(dialog().getByRole("button", { name }));

beforeEach(() => {
  server.getMe.mockResolvedValue(meWith(["cluster.create", "cluster.delete", "cluster.update", "cluster.view"]));
  server.listClusters.mockResolvedValue(create(ListClustersResponseSchema, { clusters: [idle] }));
  server.getCluster.mockResolvedValue(create(GetClusterResponseSchema, { cluster: idle }));
  server.listClusterEvents.mockResolvedValue(create(ListClusterEventsResponseSchema, { events: [{ kind: ClusterEventKind.RETURNED, note: "away for 5m0s" }] }));
  server.listClusterWaits.mockResolvedValue(
    create(ListClusterWaitsResponseSchema, {
      waits: [
        { actionId: { name: "a0", run: { project: "p", domain: "d", name: "big" } }, resource: "nvidia.com/gpu", asked: { "nvidia.com/gpu": 8n, cpu: 4000n }, free: 2n },
        { actionId: { name: "a1", run: { project: "p", domain: "d", name: "small" } }, there: true, message: "about to begin" },
      ],
    }),
  );
  use.answer.mockReturnValue(
    create(GetClusterUseResponseSchema, {
      projects: [{ project: "p", domain: "d", actions: 3, pending: 1, asked: { memory: 2n ** 31n, cpu: 2500n } }],
      runs: [{ project: "p", domain: "d", run: "large", actions: 2, asked: { cpu: 2000n } }],
      totalProjects: 1,
      totalRuns: 12,
    }),
  );
  server.list.mockResolvedValue(
    create(ListResponseSchema, { apps: [{ metadata: { id: { project: "p", domain: "d", name: "search" } }, status: { currentReplicas: 2 } }] }),
  );
  server.listPools.mockResolvedValue(
    create(ListPoolsResponseSchema, { pools: [{ id: 7n, projectId: { name: "p", domain: "d" }, environment: "warm", workers: { live: 3 }, running: 1 }] }),
  );
  server.updateCluster.mockResolvedValue({});
  server.cordonCluster.mockResolvedValue({});
  server.drainCluster.mockResolvedValue({});
  server.addCluster.mockResolvedValue(create(AddClusterResponseSchema, { secret: "fbc_first", installation: "prod" }));
  server.issueCredential.mockResolvedValue(create(IssueCredentialResponseSchema, { secret: "fbc_second" }));
  server.revokeCredential.mockResolvedValue({});
  server.removeCluster.mockResolvedValue({});
});
afterEach(() => {
  cleanup();
  vi.resetAllMocks();
});

it("adds a cluster and shows its secret once", async () => {
  open();
  await screen.findByRole("rowheader", { name: /east/ });
  fireEvent.click(screen.getByRole("button", { name: "Add cluster" }));
  press("Add");
  expect(dialog().getByText(/lower-case letters, digits and dashes/)).toBeTruthy();
  expect(server.addCluster).not.toHaveBeenCalled();
  fireEvent.change(dialog().getByLabelText("Name"), { target: { value: "west" } });
  press("Add");
  const secret = await screen.findByLabelText<HTMLInputElement>("Secret");
  expect(secret.value).toBe("fbc_first");
  expect(server.addCluster).toHaveBeenCalledWith({ name: "west" });
  expect(dialog().getByText(/helm install .*--set installation=prod --set cluster\.id=west /)).toBeTruthy();
  fireEvent.keyDown(screen.getByRole("dialog"), { key: "Escape" });
  expect(screen.getByLabelText<HTMLInputElement>("Secret").value).toBe("fbc_first");
  press("Done");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(document.body.textContent).not.toContain("fbc_first");
  expect(server.listClusters.mock.calls.length).toBeGreaterThan(1);
});

it("issues and revokes credentials", async () => {
  open(<ClusterPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Issue credential for east" }));
  press("Issue");
  expect((await screen.findByLabelText<HTMLInputElement>("Secret")).value).toBe("fbc_second");
  press("Done");
  expect(screen.queryByRole("button", { name: "Revoke cred-old" }), "it has ended").toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Revoke cred-new" }));
  press("Revoke");
  await waitFor(() => expect(server.revokeCredential).toHaveBeenCalledWith({ id: "cred-new" }));
});

it("removes a cluster without work", async () => {
  open();
  server.removeCluster.mockRejectedValueOnce(new Error("the server is away"));
  fireEvent.click(await screen.findByRole("button", { name: "Remove east" }));
  press("Remove");
  expect(await dialog().findByText(/the server is away/)).toBeTruthy();
  press("Remove");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(server.removeCluster).toHaveBeenLastCalledWith({ name: "east" });
});

it("removes a cluster with work only if its name is typed", async () => {
  server.listClusters.mockResolvedValue(create(ListClustersResponseSchema, { clusters: [busy] }));
  open();
  fireEvent.click(await screen.findByRole("button", { name: "Remove east" }));
  expect(dialog().getByText("It still has 3 actions, 1 worker")).toBeTruthy();
  press("Remove with its work");
  fireEvent.change(dialog().getByLabelText("Name of the cluster"), { target: { value: "eas" } });
  press("Remove with its work");
  expect(dialog().getByRole("alert").textContent).toBe("Type east to confirm.");
  expect(server.removeCluster).not.toHaveBeenCalled();
  fireEvent.change(dialog().getByLabelText("Name of the cluster"), { target: { value: "east" } });
  press("Remove with its work");
  await waitFor(() => expect(server.removeCluster).toHaveBeenCalledWith({ name: "east", force: true }));
});

it("changes the settings that were changed, and says what the server refuses", async () => {
  const cluster = create(ClusterSchema, { ...connected, weight: 1, pools: ["gpu", "cheap"], givenLabels: { region: "eu" }, labels: { region: "eu", zone: "a" } });
  server.getCluster.mockResolvedValue(create(GetClusterResponseSchema, { cluster }));
  open(<ClusterPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Settings of east" }));
  expect(dialog().getByLabelText<HTMLTextAreaElement>("Labels").value, "only what operators gave").toBe("region=eu");
  expect(dialog().getByLabelText<HTMLInputElement>("Cluster pools").value).toBe("gpu, cheap");
  fireEvent.change(dialog().getByLabelText("Weight"), { target: { value: "1001" } });
  fireEvent.change(dialog().getByLabelText("Labels"), { target: { value: "region" } });
  press("Save");
  expect(dialog().getAllByRole("alert").map(({ textContent }) => textContent)).toEqual([
    "Write each as key=value, on a line of its own, and each key once.",
    "A whole number from 0 to 1000.",
  ]);
  expect(server.updateCluster).not.toHaveBeenCalled();
  fireEvent.change(dialog().getByLabelText("Weight"), { target: { value: "0" } });
  fireEvent.change(dialog().getByLabelText("Labels"), { target: { value: "re gion=eu" } });
  server.updateCluster.mockRejectedValueOnce(new ConnectError('labels.values: "re gion" cannot be the key of a label', Code.InvalidArgument));
  press("Save");
  expect(await dialog().findByText(/"re gion" cannot be the key of a label/)).toBeTruthy();
  fireEvent.change(dialog().getByLabelText("Labels"), { target: { value: "region=eu" } });
  press("Save");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(server.updateCluster).toHaveBeenLastCalledWith({ name: "east", weight: 0 });
});

it("drains with a time limit and a note", async () => {
  open();
  fireEvent.click(await screen.findByRole("button", { name: "Drain east" }));
  fireEvent.change(dialog().getByLabelText("Time limit"), { target: { value: "soon" } });
  press("Drain");
  expect(dialog().getByRole("alert").textContent).toMatch(/such as 90m/);
  expect(server.drainCluster).not.toHaveBeenCalled();
  fireEvent.change(dialog().getByLabelText("Time limit"), { target: { value: "1h 30m" } });
  fireEvent.change(dialog().getByLabelText("Note"), { target: { value: "end of lease" } });
  press("Drain");
  await waitFor(() => expect(server.drainCluster).toHaveBeenCalledWith({ name: "east", note: "end of lease", deadline: { seconds: 5400n, nanos: 0 } }));
});

it("shows what a cluster has, who uses it, what waits for it and what happened", async () => {
  server.getCluster.mockResolvedValue(create(GetClusterResponseSchema, { cluster: busy }));
  open(<ClusterPage />);
  expect(await screen.findByText("5.5 of 8 asked")).toBeTruthy();
  expect(screen.getByText("2.5 free")).toBeTruthy();
  expect(screen.getByText("largest node 4")).toBeTruthy();
  expect(screen.queryByText("pods"), "a limit of nodes").toBeNull();
  expect(screen.getByText("2.5 CPU, 2.0 GiB memory")).toBeTruthy();
  expect(screen.getByText("11 more runs")).toBeTruthy();
  expect(await screen.findByText("8 nvidia.com/gpu; free: 2 nvidia.com/gpu")).toBeTruthy();
  expect(screen.getByText("about to begin")).toBeTruthy();
  const apps = within(await screen.findByRole("table", { name: "Apps" }));
  expect(apps.getByRole("link", { name: "search" })).toBeTruthy();
  expect(server.list.mock.lastCall?.[0]).toMatchObject({ filterBy: { case: "clusterId", value: { name: "east" } } });
  const pools = within(await screen.findByRole("table", { name: "Worker pools" }));
  expect(pools.getByText("3 ready")).toBeTruthy();
  expect(server.listPools.mock.lastCall?.[0]).toMatchObject({ cluster: "east" });
  expect(await screen.findByText("Came back")).toBeTruthy();
  expect(screen.getByText("away for 5m0s")).toBeTruthy();
});

it("says what one may not do", async () => {
  server.getMe.mockResolvedValue(meWith(["cluster.view"]));
  open();
  await screen.findByRole("rowheader", { name: /east/ });
  for (const name of ["Add cluster", "Cordon east", "Drain east", "Settings of east", "Remove east"]) {
    await waitFor(() => expect(screen.getByRole("button", { name }).getAttribute("aria-disabled")).toBe("true"));
  }
  cleanup();
  open(<ClusterPage />);
  for (const name of ["Issue credential for east", "Revoke cred-new"]) {
    await waitFor(() => expect(screen.getByRole("button", { name }).getAttribute("aria-disabled")).toBe("true"));
  }
});
