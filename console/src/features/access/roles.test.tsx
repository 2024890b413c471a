import { create } from "@bufbuild/protobuf";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ExplainResponseSchema, ListGiversResponseSchema, GetMeResponseSchema, ListRolesResponseSchema, MemberKind } from "@gen/flytebinary/access/v1/access_pb.js";
import { Toasts } from "@/design/toast";
import { ExplainPage } from "./explain-page";
import { Roles } from "./roles";

const server = vi.hoisted(() => ({ getMe: vi.fn(), listRoles: vi.fn(), putRole: vi.fn(), deleteRole: vi.fn(), explain: vi.fn(), listGivers: vi.fn() }));
const at = vi.hoisted((): { search: Record<string, unknown> } => ({ search: {} }));
const navigate = vi.hoisted(() => vi.fn());
vi.mock("@/api/transport", () => ({ client: () => server }));
vi.mock("@tanstack/react-router", () => ({ useSearch: () => at.search, useNavigate: () => navigate }));

const open = (page: ReactNode) =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Tooltip.Provider>
        <Toasts>{page}</Toasts>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
const dialog = () => within(screen.getByRole("dialog"));
const may = (project: string, ...permissions: string[]) =>
  server.getMe.mockResolvedValue(create(GetMeResponseSchema, { subject: "ada", grants: [{ scope: { project }, roles: ["some"], permissions }] }));

beforeEach(() => {
  at.search = {};
  may("", "role.update", "role.delete", "run.view", "run.create", "log.view", "system.view");
  server.listRoles.mockResolvedValue(
    create(ListRolesResponseSchema, {
      roles: [
        { name: "auditor", permissions: ["*.view", "cache.write", "run.create"] },
        { name: "operator", permissions: ["*.*"], builtIn: true },
        { name: "scraper", permissions: ["metrics.view"], configured: true },
      ],
    }),
  );
  server.putRole.mockResolvedValue({});
  server.deleteRole.mockResolvedValue({});
  server.explain.mockResolvedValue(create(ExplainResponseSchema, {}));
  server.listGivers.mockResolvedValue(create(ListGiversResponseSchema, { roles: ["runner"] }));
});
afterEach(() => {
  cleanup();
  vi.resetAllMocks();
});

it("creates a role of the permissions that are chosen in words", async () => {
  open(<Roles />);
  await screen.findByText("auditor");
  fireEvent.click(screen.getByRole("button", { name: "Create role" }));
  fireEvent.click(dialog().getByRole("button", { name: "Create" }));
  expect(dialog().getByText(/A role needs at least one permission/)).toBeTruthy();
  fireEvent.change(dialog().getByLabelText("Name"), { target: { value: "Starter" } });
  expect(dialog().getByText(/A name has lowercase letters/)).toBeTruthy();
  fireEvent.change(dialog().getByLabelText("Name"), { target: { value: "starter" } });
  fireEvent.click(dialog().getByLabelText(/Start, rerun and recover runs/));
  fireEvent.change(dialog().getByLabelText("Patterns"), { target: { value: "log.*" } });
  expect(dialog().getByLabelText<HTMLInputElement>(/Read logs/).checked).toBe(true); // by the pattern
  expect(dialog().getByLabelText<HTMLInputElement>(/Delete apps/).disabled).toBe(true); // the reader does not have it
  fireEvent.click(dialog().getByRole("button", { name: "Create" }));
  await waitFor(() => expect(server.putRole).toHaveBeenCalledWith({ role: { name: "starter", description: "", permissions: ["log.*", "run.create"] } }));
});

it("edits a role and keeps what has no words", async () => {
  open(<Roles />);
  fireEvent.click(await screen.findByRole("button", { name: "Edit the role auditor", hidden: true }));
  expect(dialog().getByLabelText<HTMLInputElement>("Patterns").value).toBe("*.view cache.write");
  fireEvent.click(dialog().getByLabelText(/Start, rerun and recover runs/));
  fireEvent.click(dialog().getByRole("button", { name: "Save" }));
  await waitFor(() => expect(server.putRole).toHaveBeenCalledWith({ role: { name: "auditor", description: "", permissions: ["*.view", "cache.write"] } }));
});

it("lists the roles of the product from the smallest to the largest, then own ones", async () => {
  server.listRoles.mockResolvedValue(
    create(ListRolesResponseSchema, {
      roles: [
        { name: "admin", permissions: ["run.view", "run.create", "binding.create"], builtIn: true },
        { name: "auditor", permissions: ["*.view"] },
        { name: "operator", permissions: ["*.*"], builtIn: true },
        { name: "runner", permissions: ["run.view", "run.create"], builtIn: true },
        { name: "scraper", permissions: ["metrics.view"], configured: true },
        { name: "viewer", permissions: ["run.view"], builtIn: true },
      ],
    }),
  );
  open(<Roles />);
  await screen.findByText("scraper");
  const names = screen.getAllByTestId("role").map((role) => role.getAttribute("data-role"));
  expect(names).toEqual(["viewer", "runner", "admin", "operator", "auditor", "scraper"]);
});

it("deletes own roles, and offers no change of those of the product and of the configuration", async () => {
  open(<Roles />);
  await screen.findByText("scraper");
  expect(screen.getAllByRole("button", { name: /^(Edit|Delete) the role/, hidden: true }).map((button) => button.getAttribute("aria-label"))).toEqual([
    "Edit the role auditor",
    "Delete the role auditor",
  ]);
  fireEvent.click(screen.getByRole("button", { name: "Delete the role auditor", hidden: true }));
  fireEvent.click(dialog().getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(server.deleteRole).toHaveBeenCalledWith({ name: "auditor" }));
});

it("explains why a member may not do something", async () => {
  may("p", "access.explain");
  at.search = { member: "bob", groups: "team, ops", permission: "run.abort", project: "p" };
  server.explain.mockResolvedValue(
    create(ExplainResponseSchema, {
      reason: "user bob may not run.abort in project p: it has the role viewer in project p by group team, and needs one of the roles runner",
      roles: ["runner", "admin"],
      bindings: [{ role: "viewer", member: { kind: MemberKind.GROUP, name: "team" }, scope: { project: "p" }, createdBy: "configuration" }],
    }),
  );
  open(<ExplainPage />);
  expect((await screen.findByTestId("explanation")).textContent).toContain("One of the roles runner, admin in p allows it.");
  expect(screen.getByRole("row", { name: /viewer team/ }).textContent).toContain("Group");
  expect(server.explain.mock.calls[0]?.[0]).toEqual({ permission: "run.abort", scope: { project: "p", domain: "" }, member: { kind: MemberKind.USER, name: "bob" }, groups: ["team", "ops"] });
});

it("asks about the reader without a member, and says whom to ask", async () => {
  may("p", "run.view");
  at.search = { permission: "run.create", project: "p" };
  server.explain.mockResolvedValue(create(ExplainResponseSchema, { reason: "user ada may not run.create in project p", roles: ["runner"] }));
  open(<ExplainPage />);
  await waitFor(() => expect(screen.getByTestId("explanation").textContent).toContain("Ask an admin of p."));
  expect(server.explain.mock.calls[0]?.[0]).toEqual({ permission: "run.create", scope: { project: "p", domain: "" } });
});

it("says who may ask about others, and does not ask", async () => {
  may("p", "run.view");
  at.search = { permission: "run.create", project: "p", member: "bob" };
  open(<ExplainPage />);
  expect(await screen.findByText("You may ask only about yourself here")).toBeTruthy();
  fireEvent.change(screen.getByLabelText("Member"), { target: { value: "" } });
  fireEvent.click(screen.getByRole("button", { name: "Explain" }));
  expect(navigate).toHaveBeenCalledWith({ to: "/explain", search: { permission: "run.create", project: "p" } });
});
