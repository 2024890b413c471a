import { create } from "@bufbuild/protobuf";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import {
  CreateKeyResponseSchema,
  GetMeResponseSchema,
  KeySchema,
  ListBindingsResponseSchema,
  ListGiversResponseSchema,
  ListKeysResponseSchema,
  ListRolesResponseSchema,
  MemberKind,
  SearchAuditResponseSchema,
  VerifyAuditResponseSchema,
} from "@gen/flytebinary/access/v1/access_pb.js";
import { Toasts } from "@/design/toast";
import { AuditPage } from "./audit-page";
import { KeysPage } from "./keys-page";
import { MembersPage } from "./members-page";

const server = vi.hoisted(() => ({
  getMe: vi.fn(),
  listRoles: vi.fn(),
  listGivers: vi.fn(),
  listKeys: vi.fn(),
  createKey: vi.fn(),
  revokeKey: vi.fn(),
  listBindings: vi.fn(),
  createBinding: vi.fn(),
  deleteBinding: vi.fn(),
  searchAudit: vi.fn(),
  verifyAudit: vi.fn(),
}));
const at = vi.hoisted((): { search: Record<string, unknown> } => ({ search: {} }));
const navigate = vi.hoisted(() => vi.fn());
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d" }),
  useSearch: () => at.search,
  useNavigate: () => navigate,
  Link: ({ children }: { readonly children: ReactNode }) => <a href="/elsewhere">{children}</a>,
}));

const open = (page: ReactNode) =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Tooltip.Provider>
        <Toasts>{page}</Toasts>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
const viewer = ["key.create", "key.revoke", "key.view", "role.view", "run.view"];
const admin = [...viewer, "audit.view", "binding.create", "binding.delete", "binding.view"];
const meWith = (permissions: readonly string[]) =>
  create(GetMeResponseSchema, { subject: "ada", grants: [{ scope: { project: "p" }, roles: ["some"], permissions: [...permissions] }] });
const dialog = () => within(screen.getByRole("dialog"));

beforeEach(() => {
  at.search = {};
  server.getMe.mockResolvedValue(meWith(admin));
  server.listRoles.mockResolvedValue(
    create(ListRolesResponseSchema, {
      roles: [
        { name: "admin", description: "also gives roles", permissions: admin },
        { name: "operator", permissions: ["*.*"] },
        { name: "viewer", description: "sees runs", permissions: viewer },
      ],
    }),
  );
  server.listKeys.mockResolvedValue(create(ListKeysResponseSchema, { keys: [{ id: "k1", name: "nightly", hint: "x9", roles: [{ role: "viewer", scope: { project: "p" } }] }] }));
  server.listBindings.mockResolvedValue(
    create(ListBindingsResponseSchema, {
      bindings: [
        { member: { kind: MemberKind.GROUP, name: "team" }, role: "viewer", scope: {}, createdBy: "configuration" },
        { id: "6", member: { kind: MemberKind.KEY, name: "key-4f" }, keyName: "nightly", role: "runner", scope: { project: "p", domain: "d" }, createdBy: "ada" },
        { id: "7", member: { kind: MemberKind.USER, name: "bob" }, role: "viewer", scope: { project: "p", domain: "d" }, createdBy: "ada" },
      ],
    }),
  );
  server.searchAudit.mockResolvedValue(create(SearchAuditResponseSchema, { events: [{ sequence: 4n, subject: "bob", permission: "run.abort", outcome: "refused" }] }));
  server.listGivers.mockResolvedValue(
    create(ListGiversResponseSchema, {
      givers: [
        { member: { kind: MemberKind.USER, name: "00u1" }, name: "Ada Lovelace", email: "ada@example.com", scope: { project: "p" } },
        { member: { kind: MemberKind.GROUP, name: "platform" }, scope: {} },
      ],
      roles: ["admin", "operator"],
    }),
  );
  for (const change of [server.revokeKey, server.createBinding, server.deleteBinding]) change.mockResolvedValue({});
});
afterEach(() => {
  cleanup();
  vi.resetAllMocks();
});

it("shows the secret of a new key once, and closes only by its button", async () => {
  server.createKey.mockResolvedValue(create(CreateKeyResponseSchema, { key: { id: "k2", name: "ci" }, secret: "fbk_secret", flyteApiKey: "aG9zdA==" }));
  open(<KeysPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Create key" }));
  fireEvent.change(dialog().getByLabelText("Name"), { target: { value: "ci" } });
  fireEvent.change(dialog().getByLabelText("Valid for"), { target: { value: "30" } });
  fireEvent.click(dialog().getByRole("button", { name: "Create" }));
  expect((await screen.findByLabelText<HTMLInputElement>("Secret")).value).toBe("fbk_secret");
  expect(screen.getByLabelText<HTMLInputElement>("FLYTE_API_KEY").value).toBe("aG9zdA==");
  expect(server.createKey.mock.calls[0]?.[0]).toMatchObject({ name: "ci", roles: [{ role: "viewer", scope: { project: "p", domain: "d" } }], lifetime: { seconds: 2_592_000n } });
  fireEvent.keyDown(screen.getByRole("dialog"), { key: "Escape" });
  expect(screen.getByLabelText("Secret")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Done" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(document.body.innerHTML).not.toContain("fbk_secret");
});

it("revokes a key, and has no button for one that has ended", async () => {
  server.listKeys.mockResolvedValue(
    create(ListKeysResponseSchema, { keys: [create(KeySchema, { id: "k1", name: "nightly" }), create(KeySchema, { id: "k0", name: "old", revokedAt: { seconds: 1n } })] }),
  );
  open(<KeysPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Revoke nightly" }));
  expect(screen.queryByRole("button", { name: "Revoke old" })).toBeNull();
  fireEvent.click(dialog().getByRole("button", { name: "Revoke" }));
  await waitFor(() => expect(server.revokeKey).toHaveBeenCalledWith({ id: "k1" }));
});

it("adds and removes members, but not those of the configuration", async () => {
  open(<MembersPage />);
  await screen.findByRole("rowheader", { name: /bob/ });
  expect(screen.getByRole("rowheader", { name: /nightly.*API key key-4f/ })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Remove viewer from team" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Add member" }));
  fireEvent.change(dialog().getByLabelText("Kind"), { target: { value: String(MemberKind.GROUP) } });
  fireEvent.change(dialog().getByLabelText("Name"), { target: { value: "ops" } });
  fireEvent.change(dialog().getByLabelText("Role"), { target: { value: "admin" } });
  fireEvent.click(dialog().getByRole("button", { name: "Add" }));
  await waitFor(() =>
    expect(server.createBinding).toHaveBeenCalledWith({ member: { kind: MemberKind.GROUP, name: "ops" }, role: "admin", scope: { project: "p", domain: "d" } }),
  );
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  fireEvent.click(screen.getByRole("button", { name: "Remove viewer from bob" }));
  fireEvent.click(dialog().getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(server.deleteBinding).toHaveBeenCalledWith({ id: "7", scope: { project: "p", domain: "d" } }));
});

it("says what each role may do", async () => {
  open(<MembersPage />);
  const role = await screen.findByText("also gives roles");
  expect(role.closest("details")?.textContent).toContain("See who has which role. Give roles to others, as far as they have them. Take roles from others");
  expect(screen.getByText("Everything, in the whole installation.")).toBeTruthy();
});

it("says in words who may see the members, and whom to ask", async () => {
  server.getMe.mockResolvedValue(meWith(viewer));
  open(<MembersPage />);
  expect(await screen.findByText("You may not see the members here")).toBeTruthy();
  expect(await screen.findByText("Takes the role admin in p/d, for the permission binding.view. Ask an admin of p.")).toBeTruthy();
  const whom = within((await screen.findAllByTestId("ask-whom"))[0] ?? document.body);
  expect(whom.getByText("the group platform (the whole installation)")).toBeTruthy();
  expect(whom.getByText(/^Ada Lovelace/).textContent).toBe("Ada Lovelace, ada@example.com (p)");
  expect(whom.getByRole("link", { name: "ada@example.com" }).getAttribute("href")).toMatch(/^mailto:ada%40example.com\?subject=Access%20to%20Flyte&body=Please%20give%20me%20the%20role%20admin%20in%20p%2Fd/);
  expect(whom.getByRole("button", { name: "Copy the request" })).toBeTruthy();
  const add = screen.getByRole("button", { name: "Add member" });
  expect(add.getAttribute("aria-disabled")).toBe("true");
  fireEvent.click(add);
  const why = within(await screen.findByRole("dialog", { name: "Why you may not do this" }));
  expect(why.getByText("Takes the role admin in p/d, for the permission binding.create. Ask an admin of p.")).toBeTruthy();
  expect(await why.findByText(/^Please give me the role admin in p\/d. I need binding.create/)).toBeTruthy();
  expect(screen.queryByText("You can give only what you have yourself.")).toBeNull();
});

it("searches the audit as the URL says, and writes the filters to the URL", async () => {
  at.search = { project: "p", permission: "run.abort", from: "2026-01-02T03:04" };
  open(<AuditPage />);
  await screen.findByRole("rowheader");
  expect(server.searchAudit.mock.calls[0]?.[0]).toMatchObject({ permission: "run.abort", scope: { project: "p", domain: "" }, from: { seconds: 1_767_323_040n }, token: "" });
  fireEvent.change(screen.getByLabelText("Subject"), { target: { value: "bob" } });
  fireEvent.change(screen.getByLabelText("Outcome"), { target: { value: "refused" } });
  fireEvent.click(screen.getByRole("button", { name: "Search" }));
  expect(navigate).toHaveBeenCalledWith({ to: "/audit", search: { project: "p", permission: "run.abort", from: "2026-01-02T03:04", subject: "bob", outcome: "refused" } });
});

it("says who may read the audit, and reads nothing of it otherwise", async () => {
  open(<AuditPage />); // an admin of a project has no right to the audit of the installation
  expect(await screen.findByText("You may not see the events here")).toBeTruthy();
  expect(screen.queryByTestId("audit-row")).toBeNull();
});

it("shows calls that were begun and never completed as calls with an unknown outcome", async () => {
  at.search = { project: "p" };
  server.searchAudit.mockResolvedValue(create(SearchAuditResponseSchema, { events: [{ sequence: 5n, subject: "bob", permission: "run.abort", outcome: "unknown" }] }));
  open(<AuditPage />);
  const row = await screen.findByTestId("audit-row");
  expect(row.textContent).toContain("outcome unknown");
  expect(row.textContent).toContain("The server stopped before the call ended.");
});

it("verifies the audit, and says which event does not fit", async () => {
  server.getMe.mockResolvedValue(
    create(GetMeResponseSchema, { subject: "ada", grants: [{ scope: {}, roles: ["operator"], permissions: [...admin, "audit.verify"] }] }),
  );
  server.verifyAudit.mockResolvedValueOnce(create(VerifyAuditResponseSchema, { checked: 1234n, last: 1240n, hash: "abcd" }));
  open(<AuditPage />);
  await screen.findByRole("rowheader");
  fireEvent.click(screen.getByRole("button", { name: "Verify" }));
  expect(await screen.findByText("No event was changed or removed: 1,234 checked")).toBeTruthy();
  expect(screen.getByText("abcd")).toBeTruthy();
  server.verifyAudit.mockResolvedValueOnce(create(VerifyAuditResponseSchema, { checked: 7n, brokenAt: 8n, problem: "event 8 does not have the hash of event 7" }));
  fireEvent.click(screen.getByRole("button", { name: "Verify" }));
  expect((await screen.findByRole("alert")).textContent).toContain("event 8 does not have the hash of event 7");
});

it("does not offer to verify the audit to those who may not", async () => {
  at.search = { project: "p" };
  open(<AuditPage />);
  await screen.findByTestId("audit-row");
  fireEvent.click(screen.getByRole("button", { name: "Verify" }));
  expect((await screen.findByRole("dialog")).textContent).toContain("Takes the role operator in the whole installation, for the permission audit.verify.");
  expect(server.verifyAudit).not.toHaveBeenCalled();
});
