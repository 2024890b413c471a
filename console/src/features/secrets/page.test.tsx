import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { GetMeResponseSchema, ListRolesResponseSchema } from "@gen/flytebinary/access/v1/access_pb.js";
import { SecretSchema, SecretType } from "@gen/flyteidl2/secret/definition_pb.js";
import { ListSecretsResponseSchema, type CreateSecretRequest, type ListSecretsRequest } from "@gen/flyteidl2/secret/payload_pb.js";
import { Toasts } from "@/design/toast";
import { SecretsPage } from "./page";

const access = vi.hoisted(() => ({ getMe: vi.fn(), listGivers: vi.fn(), listRoles: vi.fn() }));
const server = vi.hoisted(() => ({ ...access, listSecrets: vi.fn(), createSecret: vi.fn(), updateSecret: vi.fn(), deleteSecret: vi.fn() }));
const at = vi.hoisted((): { search: { scope?: string } } => ({ search: {} }));
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d" }),
  useSearch: () => at.search,
  useNavigate: () => vi.fn(),
}));

const queries = () => new QueryClient({ defaultOptions: { queries: { retry: false } } });
const open = (client = queries()) =>
  render(
    <QueryClientProvider client={client}>
      <Tooltip.Provider>
        <Toasts>
          <SecretsPage />
        </Toasts>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
const secret = (name: string, type = SecretType.GENERIC) => create(SecretSchema, { id: { name, project: "p", domain: "d" }, secretMetadata: { type } });
const page = (names: string[], token = "") => create(ListSecretsResponseSchema, { secrets: names.map((name) => secret(name)), token });
const dialog = () => within(screen.getByRole("dialog"));

beforeEach(() => {
  at.search = {};
  server.getMe.mockResolvedValue(create(GetMeResponseSchema, { open: true }));
  server.listRoles.mockResolvedValue(create(ListRolesResponseSchema, { roles: [{ name: "contributor", permissions: ["secret.*"] }] }));
  server.listSecrets.mockResolvedValue(page(["my-key"]));
  server.createSecret.mockResolvedValue({});
  server.updateSecret.mockResolvedValue({});
  server.deleteSecret.mockResolvedValue({});
});
afterEach(() => {
  cleanup();
  vi.resetAllMocks();
});

it("lists the secrets of a scope page by page", async () => {
  server.listSecrets.mockImplementation((request: Pick<ListSecretsRequest, "token">) => Promise.resolve(request.token === "" ? page(["one"], "next") : page(["two"])));
  at.search = { scope: "domain" };
  open();
  fireEvent.click(await screen.findByRole("button", { name: "More secrets" }));
  await screen.findByRole("rowheader", { name: "two" });
  expect(screen.getAllByTestId("secret-row")).toHaveLength(2);
  expect(server.listSecrets.mock.calls.map(([request]) => request as unknown)).toEqual([
    { project: "", domain: "d", limit: 100, token: "" },
    { project: "", domain: "d", limit: 100, token: "next" },
  ]);
});

it("creates a secret and keeps its value nowhere", async () => {
  const client = queries();
  open(client);
  await screen.findByTestId("secret-row");
  fireEvent.click(screen.getByRole("button", { name: "Create secret" }));
  fireEvent.click(dialog().getByRole("button", { name: "Create" }));
  expect(await dialog().findByText("A name is required.")).toBeTruthy();
  expect(server.createSecret).not.toHaveBeenCalled();
  fireEvent.change(dialog().getByLabelText("Name"), { target: { value: "new-key" } });
  fireEvent.change(dialog().getByLabelText("Value"), { target: { value: "hidden grüße" } });
  fireEvent.click(dialog().getByRole("button", { name: "Create" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  const [request] = server.createSecret.mock.calls[0] as [CreateSecretRequest];
  expect(request.id).toEqual({ name: "new-key", project: "p", domain: "d" });
  expect(new TextDecoder().decode(request.secretSpec?.value.value as Uint8Array)).toBe("hidden grüße");
  expect(server.listSecrets).toHaveBeenCalledTimes(2);
  expect(document.body.innerHTML).not.toContain("grüße");
  expect(JSON.stringify([client.getQueryCache().getAll().map(({ state }) => state), client.getMutationCache().getAll()])).not.toContain("grüße");
  fireEvent.click(screen.getByRole("button", { name: "Create secret" }));
  expect(dialog().getByLabelText<HTMLTextAreaElement>("Value").value).toBe("");
});

it("makes a Docker configuration of the credentials of a registry", async () => {
  open();
  await screen.findByTestId("secret-row");
  fireEvent.click(screen.getByRole("button", { name: "Create secret" }));
  fireEvent.change(dialog().getByLabelText("Name"), { target: { value: "registry" } });
  fireEvent.change(dialog().getByLabelText("Scope"), { target: { value: "organization" } });
  fireEvent.change(dialog().getByLabelText("Type"), { target: { value: String(SecretType.IMAGE_PULL_SECRET) } });
  for (const [label, value] of [["Registry", "ghcr.io"], ["User", "u"], ["Password", "w"]] as const) {
    fireEvent.change(dialog().getByLabelText(label), { target: { value } });
  }
  fireEvent.click(dialog().getByRole("button", { name: "Create" }));
  await waitFor(() => expect(server.createSecret).toHaveBeenCalled());
  const [request] = server.createSecret.mock.calls[0] as [CreateSecretRequest];
  expect(request.id).toEqual({ name: "registry", project: "", domain: "" });
  expect(request.secretSpec?.type).toBe(SecretType.IMAGE_PULL_SECRET);
  expect(new TextDecoder().decode(request.secretSpec?.value.value as Uint8Array)).toBe('{"auths":{"ghcr.io":{"auth":"dTp3"}}}');
});

it("replaces a value, and shows what the server refuses", async () => {
  server.updateSecret.mockRejectedValue(new ConnectError("secret_spec.value: has at most 10 bytes", Code.InvalidArgument));
  open();
  fireEvent.click(await screen.findByRole("button", { name: "Replace value of my-key" }));
  expect(dialog().getByLabelText<HTMLTextAreaElement>("Value").value).toBe("");
  fireEvent.change(dialog().getByLabelText("Value"), { target: { value: "hidden" } });
  fireEvent.click(dialog().getByRole("button", { name: "Replace" }));
  expect((await dialog().findByRole("alert")).textContent).toContain("at most 10 bytes");
});

it("deletes only after a confirmation", async () => {
  open();
  fireEvent.click(await screen.findByRole("button", { name: "Delete my-key" }));
  expect(server.deleteSecret).not.toHaveBeenCalled();
  fireEvent.click(dialog().getByRole("button", { name: "Cancel" }));
  expect(server.deleteSecret).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: "Delete my-key" }));
  fireEvent.click(dialog().getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(server.deleteSecret).toHaveBeenCalledWith({ id: secret("my-key").id }));
});

it("shows why there are no secrets", async () => {
  server.listSecrets.mockRejectedValue(new ConnectError("secrets are not available: no backend", Code.FailedPrecondition));
  open();
  expect((await screen.findByRole("alert")).textContent).toContain("no backend");
});

it("says which role may see the secrets, and whom to ask", async () => {
  server.getMe.mockResolvedValue(create(GetMeResponseSchema, { grants: [{ scope: { project: "p" }, permissions: ["run.view"] }], ask: "Ask Grace." }));
  server.listGivers.mockResolvedValue({ givers: [], roles: ["contributor"] });
  open();
  expect(await screen.findByText("You may not see the secrets here")).toBeTruthy();
  expect(await screen.findByText("Takes the role contributor in p/d, for the permission secret.view. Ask Grace.")).toBeTruthy();
  expect(await screen.findByText(/^Please give me the role contributor in p\/d/)).toBeTruthy();
  expect(server.listSecrets, "the server would record a denied call").not.toHaveBeenCalled();
});
