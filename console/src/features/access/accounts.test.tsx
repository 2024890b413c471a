import { create } from "@bufbuild/protobuf";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { GetLimitsResponseSchema, GetMeResponseSchema, ListAccountsResponseSchema, ListRolesResponseSchema } from "@gen/flytebinary/access/v1/access_pb.js";
import { Toasts } from "@/design/toast";
import { AccountsPage } from "./accounts-page";
import { MePage } from "./me-page";

const server = vi.hoisted(() => ({
  getMe: vi.fn(),
  getLimits: vi.fn(),
  listRoles: vi.fn(),
  listGivers: vi.fn(),
  listAccounts: vi.fn(),
  createAccount: vi.fn(),
  updateAccount: vi.fn(),
  setPassword: vi.fn(),
  unlockAccount: vi.fn(),
  removeAccount: vi.fn(),
  endSessions: vi.fn(),
  changePassword: vi.fn(),
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
const operator = ["account.create", "account.delete", "account.update", "account.view"];
const meWith = (permissions: readonly string[], account = "admin") =>
  create(GetMeResponseSchema, { subject: "admin", name: "Administrator", account, grants: [{ scope: {}, roles: ["operator"], permissions: [...permissions] }] });
const dialog = () => within(screen.getByRole("dialog"));
const fill = (label: string, value: string) => fireEvent.change(dialog().getByLabelText(label), { target: { value } });
const press = (name: string) => fireEvent.click(dialog().getByRole("button", { name }));

beforeEach(() => {
  at.search = {};
  server.getMe.mockResolvedValue(meWith(operator));
  server.listRoles.mockResolvedValue(create(ListRolesResponseSchema, { roles: [{ name: "operator", permissions: ["*.*"], builtIn: true }] }));
  server.listAccounts.mockResolvedValue(
    create(ListAccountsResponseSchema, {
      accounts: [
        { name: "admin", subject: "admin" },
        { name: "grace", displayName: "Grace Hopper", email: "grace@example.com", groups: ["navy"], subject: "local|grace", lockedUntil: { seconds: 32_503_680_000n } },
        { name: "old", subject: "old", removedAt: { seconds: 1n } },
      ],
    }),
  );
  server.getLimits.mockResolvedValue(
    create(GetLimitsResponseSchema, {
      limits: [
        { things: "requests", setting: "access.limits.requestsPerSecond", most: 500n, per: { seconds: 1n }, burst: 5000n, left: 4990n },
        { things: "request bytes", setting: "access.limits.requestBytes", most: 1024n, each: true },
        { things: "streams", setting: "access.limits.streams", most: 2n, burst: 2n },
        { things: "unfinished actions", setting: "runs.backlog.callerActions", most: 9n, burst: 9n, left: 4n },
        {
          things: "stored bytes", project: "p", setting: "runs.stored.projectBytes", most: 10n * 1024n ** 3n, burst: 10n * 1024n ** 3n, left: 4n * 1024n ** 3n,
          used: 6n * 1024n ** 3n, measuredAt: { seconds: 1n },
        },
        { things: "stored bytes", project: "q", setting: "runs.stored.projects", most: 1024n, burst: 1024n, left: 1024n },
        {
          things: "stored bytes", setting: "runs.stored.callerBytes", most: 2n * 1024n ** 3n, burst: 2n * 1024n ** 3n, left: 1024n ** 3n, used: 1024n ** 3n,
          measuredAt: { seconds: 1n },
        },
        {
          things: "uploaded bytes", setting: "dataproxy.callerUploadBytesPerDay", most: 4096n, burst: 4096n, left: 1024n, used: 3072n, per: { seconds: 86400n },
        },
        { things: "runs", project: "p", setting: "access.limits.projectRunsPerMinute", per: { seconds: 60n } },
      ],
    }),
  );
  const changes = [server.createAccount, server.updateAccount, server.setPassword, server.unlockAccount, server.removeAccount, server.endSessions];
  for (const change of [...changes, server.changePassword]) change.mockResolvedValue({});
});
afterEach(() => {
  cleanup();
  vi.resetAllMocks();
});

it("creates an account, and keeps its password nowhere", async () => {
  open(<AccountsPage />);
  await screen.findByRole("rowheader", { name: /grace/ });
  fireEvent.click(screen.getByRole("button", { name: "Create account" }));
  press("Create");
  expect(dialog().getByText("A name is required, without spaces and |.")).toBeTruthy();
  fill("Name", "ada");
  fill("First password", "short");
  expect(dialog().getByText("A password has 8 to 1024 bytes.")).toBeTruthy();
  press("Create");
  expect(server.createAccount).not.toHaveBeenCalled();
  fill("First password", "correct horse");
  fill("Groups", "research, , oncall,research");
  press("Create");
  await waitFor(() =>
    expect(server.createAccount).toHaveBeenCalledWith({ account: { name: "ada", displayName: "", email: "", groups: ["research", "oncall"] }, password: "correct horse" }),
  );
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(document.body.innerHTML).not.toContain("correct horse");
});

it("edits, unlocks, signs out and removes an account, and sets its password", async () => {
  open(<AccountsPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Edit grace" }));
  expect(dialog().getByLabelText<HTMLInputElement>("E-mail").value).toBe("grace@example.com");
  fill("Groups", "navy, army");
  press("Save");
  await waitFor(() =>
    expect(server.updateAccount).toHaveBeenCalledWith({ account: { name: "grace", displayName: "Grace Hopper", email: "grace@example.com", groups: ["navy", "army"] } }),
  );
  const next = async (button: string) => {
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    fireEvent.click(screen.getByRole("button", { name: button }));
  };
  await next("Unlock grace");
  press("Unlock");
  await waitFor(() => expect(server.unlockAccount).toHaveBeenCalledWith({ name: "grace" }));
  await next("Set password of grace");
  fill("New password", "battery staple");
  press("Set password");
  await waitFor(() => expect(server.setPassword).toHaveBeenCalledWith({ name: "grace", password: "battery staple" }));
  await next("Sign out grace");
  fireEvent.click(dialog().getByLabelText(/API keys/));
  press("Sign out");
  await waitFor(() => expect(server.endSessions).toHaveBeenCalledWith({ subject: "local|grace", keys: true }));
  await next("Remove grace");
  press("Remove");
  await waitFor(() => expect(server.removeAccount).toHaveBeenCalledWith({ name: "grace" }));
});

it("offers neither to remove one's own account, nor to unlock one that is not locked", async () => {
  open(<AccountsPage />);
  await screen.findByRole("button", { name: "Edit admin" });
  expect(screen.queryByRole("button", { name: "Remove admin" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Unlock admin" })).toBeNull();
});

it("lists removed accounts only when asked, without buttons", async () => {
  at.search = { removed: true };
  open(<AccountsPage />);
  expect((await screen.findByRole("rowheader", { name: "old" })).closest("tr")?.textContent).toContain("removed");
  expect(screen.queryByRole("button", { name: "Edit old" })).toBeNull();
  cleanup();
  at.search = {};
  open(<AccountsPage />);
  await screen.findByRole("rowheader", { name: /grace/ });
  expect(screen.queryByRole("rowheader", { name: "old" })).toBeNull();
});

it("does not ask for the accounts when the reader may not see them", async () => {
  server.getMe.mockResolvedValue(meWith(["run.view"]));
  open(<AccountsPage />);
  expect(await screen.findByText("You may not see the accounts here")).toBeTruthy();
  expect(server.listAccounts).not.toHaveBeenCalled();
});

it("says what the limits are, and what is left of them", async () => {
  open(<MePage />);
  const row = async (setting: string) => (await screen.findByText(setting)).closest("tr")?.textContent;
  expect(await row("access.limits.requestsPerSecond")).toContain("You500 a second, 5,000 at once after a pause4,990 of 5,000");
  expect((await row("access.limits.requestBytes"))?.endsWith("You1,024 in each")).toBe(true);
  expect(await row("access.limits.streams")).toContain("2 at the same timeNone");
  expect(await row("access.limits.projectRunsPerMinute")).toContain("All callers in pNo limit");
  expect(await row("runs.stored.projectBytes")).toMatch(/All callers in p10 GiB4\.0 GiB6\.0 GiB stored, measured \d+ \w+ ago$/);
  expect(await row("runs.stored.callerBytes")).toMatch(/You2\.0 GiB1\.0 GiB1\.0 GiB stored, measured \d+ \w+ ago$/);
  expect(await row("dataproxy.callerUploadBytesPerDay")).toMatch(/You4\.0 KiB a day1\.0 KiB3\.0 KiB uploaded within a day$/);
  expect(await row("runs.stored.projects")).toContain("1.0 KiBNot measured yet");
  expect(server.getLimits.mock.calls[0]?.[0]).toEqual({ project: "p" });
});

it("says how to connect an agent", async () => {
  open(<MePage />);
  expect((await screen.findByLabelText<HTMLInputElement>("Read only")).value).toBe(`${window.location.origin}/mcp`);
  expect(screen.getByLabelText<HTMLInputElement>("With changes").value).toBe(`${window.location.origin}/mcp/changes`);
});

it("changes the reader's own password", async () => {
  server.getMe.mockResolvedValue(meWith(["identity.update"]));
  open(<MePage />);
  const form = within((await screen.findByRole("heading", { name: "Change password" })).closest("section") ?? document.body);
  const type = (label: string, value: string) => fireEvent.change(form.getByLabelText(label), { target: { value } });
  type("Current password", "the old one");
  type("New password", "the new one");
  type("New password again", "another one");
  fireEvent.click(form.getByRole("button", { name: "Change password" }));
  expect(form.getByText("It differs from the new password.")).toBeTruthy();
  expect(server.changePassword).not.toHaveBeenCalled();
  type("New password again", "the new one");
  fireEvent.click(form.getByRole("button", { name: "Change password" }));
  await waitFor(() => expect(server.changePassword).toHaveBeenCalledWith({ current: "the old one", password: "the new one" }));
  await waitFor(() => expect(form.getByLabelText<HTMLInputElement>("Current password").value).toBe(""));
});

it("has no form for a password where the reader has no local account", async () => {
  server.getMe.mockResolvedValue(meWith(["identity.update"], ""));
  open(<MePage />);
  await screen.findByText("access.limits.streams");
  expect(screen.queryByRole("heading", { name: "Change password" })).toBeNull();
});
