import { create } from "@bufbuild/protobuf";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { GetMeResponseSchema } from "@gen/flytebinary/access/v1/access_pb.js";
import { AddClusterResponseSchema, IssueCredentialResponseSchema, ListClustersResponseSchema } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { Toasts } from "@/design/toast";
import { ClustersPage } from "./page";

const server = vi.hoisted(() => ({
  getMe: vi.fn(),
  listGivers: vi.fn(),
  listClusters: vi.fn(),
  addCluster: vi.fn(),
  issueCredential: vi.fn(),
  revokeCredential: vi.fn(),
  removeCluster: vi.fn(),
}));
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("@tanstack/react-router", () => ({ useParams: () => ({ project: "p", domain: "d" }), useSearch: () => ({}), useNavigate: () => vi.fn() }));

const open = () =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Tooltip.Provider>
        <Toasts>
          <ClustersPage />
        </Toasts>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
const meWith = (permissions: readonly string[]) =>
  create(GetMeResponseSchema, { subject: "ada", name: "Ada", grants: [{ scope: {}, roles: ["operator"], permissions: [...permissions] }] });
const dialog = () => within(screen.getByRole("dialog"));
const press = (name: string) => fireEvent.click(dialog().getByRole("button", { name }));

beforeEach(() => {
  server.getMe.mockResolvedValue(meWith(["cluster.create", "cluster.delete", "cluster.update", "cluster.view"]));
  server.listClusters.mockResolvedValue(
    create(ListClustersResponseSchema, {
      clusters: [
        {
          name: "east",
          createdBy: "ada",
          credentials: [
            { id: "cred-old", hint: "aaaa", revokedAt: { seconds: 1n } },
            { id: "cred-new", hint: "bbbb" },
          ],
        },
      ],
    }),
  );
  server.addCluster.mockResolvedValue(create(AddClusterResponseSchema, { secret: "fbc_first" }));
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
  fireEvent.keyDown(screen.getByRole("dialog"), { key: "Escape" });
  expect(screen.getByLabelText<HTMLInputElement>("Secret").value).toBe("fbc_first");
  press("Done");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(document.body.textContent).not.toContain("fbc_first");
  expect(server.listClusters.mock.calls.length).toBeGreaterThan(1);
});

it("issues, revokes and removes", async () => {
  open();
  fireEvent.click(await screen.findByRole("button", { name: "Issue credential for east" }));
  press("Issue");
  expect((await screen.findByLabelText<HTMLInputElement>("Secret")).value).toBe("fbc_second");
  press("Done");
  expect(screen.queryByRole("button", { name: "Revoke cred-old" }), "it has ended").toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Revoke cred-new" }));
  press("Revoke");
  await waitFor(() => expect(server.revokeCredential).toHaveBeenCalledWith({ id: "cred-new" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  server.removeCluster.mockRejectedValueOnce(new Error("the server is away"));
  fireEvent.click(screen.getByRole("button", { name: "Remove east" }));
  press("Remove");
  expect(await dialog().findByText(/the server is away/)).toBeTruthy();
  press("Remove");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(server.removeCluster).toHaveBeenLastCalledWith({ name: "east" });
});

it("says what one may not do", async () => {
  server.getMe.mockResolvedValue(meWith(["cluster.view"]));
  open();
  await screen.findByRole("rowheader", { name: /east/ });
  for (const name of ["Add cluster", "Issue credential for east", "Revoke cred-new", "Remove east"]) {
    await waitFor(() => expect(screen.getByRole("button", { name }).getAttribute("aria-disabled")).toBe("true"));
  }
});
