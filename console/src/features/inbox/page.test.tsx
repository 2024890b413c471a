import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AccessService, GetMeResponseSchema, type GetMeResponse } from "@gen/flytebinary/access/v1/access_pb.js";
import { ConditionService, type AnswerConditionRequest, type AssignConditionRequest } from "@gen/flytebinary/insight/v1/conditions_pb.js";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { ListPausedActionsResponseSchema, type ListPausedActionsRequest } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { SimpleType } from "@gen/flyteidl2/core/types_pb.js";
import { ConditionPromptType } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { rememberPlace } from "@/app/place";
import { Toasts } from "@/design/toast";
import { InboxPage } from "./page";
import { InboxSearch } from "./search";

const me = vi.hoisted(() => ({ now: undefined as GetMeResponse | undefined }));
vi.mock("@/entities/access/use-me", () => ({ useMe: () => me.now, useMePending: () => false, useRoles: () => [] }));

const ada = create(GetMeResponseSchema, {
  kind: "user",
  subject: "ada",
  name: "Ada",
  grants: [{ scope: {}, roles: ["runner"], permissions: ["action.signal", "action.view", "run.view"] }],
});
const open = create(GetMeResponseSchema, { open: true, subject: "anonymous", grants: [{ scope: {}, permissions: ["action.signal"] }] });

beforeEach(() => {
  me.now = ada;
  localStorage.clear();
  rememberPlace({ project: "p", domain: "d" });
});
afterEach(cleanup);

/** The inbox at an address, on a server with one approval, of whom the caller may change the assignee. */
function show(at: string, fail?: ConnectError) {
  const asked = { listed: [] as ListPausedActionsRequest[], assigned: [] as AssignConditionRequest[], answered: [] as AnswerConditionRequest[] };
  let assignee: { subject: string; name: string } | undefined = { subject: "grace", name: "Grace Hopper" };
  let gone = false;
  const transport = createRouterTransport(({ service }) => {
    service(InsightService, {
      listPausedActions: (request) => {
        asked.listed.push(request);
        if (fail) throw fail;
        if (gone || (request.mine && assignee?.subject !== "ada")) return {};
        return create(ListPausedActionsResponseSchema, {
          total: 1,
          actions: [
            {
              actionId: { run: { project: "p", domain: "d", name: "release-7" }, name: "ask" },
              parent: "a0",
              condition: {
                name: "approve",
                prompt: "# Ship **it**?\n<img src=x onerror=alert(1)>",
                promptType: ConditionPromptType.MARKDOWN,
                type: { type: { case: "simple", value: SimpleType.BOOLEAN } },
              },
              ...(assignee && { assignee }),
            },
          ],
        });
      },
    });
    service(ConditionService, {
      assignCondition: (request) => {
        asked.assigned.push(request);
        assignee = request.subject === "" ? undefined : { subject: request.subject, name: request.subject === "ada" ? "Ada" : "Grace Hopper" };
        return {};
      },
      answerCondition: (request) => {
        asked.answered.push(request);
        gone = true;
        return {};
      },
    });
    service(AccessService, { listHolders: () => ({ holders: [{ subject: "ada", name: "Ada" }, { subject: "grace", name: "Grace Hopper" }] }) });
  });
  const root = createRootRoute();
  const routes = ["/inbox", "/domain/$domain/project/$project/inbox"].map((path) => createRoute({ getParentRoute: () => root, path, validateSearch: InboxSearch, component: InboxPage }));
  const router = createRouter({ routeTree: root.addChildren(routes), history: createMemoryHistory({ initialEntries: [at] }) });
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Toasts>
            <RouterProvider router={router as never} />
          </Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
  return asked;
}

it("shows the prompt as Markdown without HTML, and removes what is answered", async () => {
  const asked = show("/inbox");
  const card = within(await screen.findByTestId("paused"));
  expect(await card.findByText("it", { selector: "strong" })).toBeDefined();
  expect(document.querySelector("img")).toBeNull();
  expect(card.getByText("p / d")).toBeDefined();
  fireEvent.change(card.getByLabelText(/Comment/), { target: { value: "fine" } });
  fireEvent.click(card.getByRole("button", { name: "Approve" }));
  fireEvent.click(card.getByRole("button", { name: "Now" }));
  await screen.findByText("Nothing to approve");
  expect(asked.answered[0]).toMatchObject({ comment: "fine", payload: { value: { case: "boolValue", value: true } } });
  expect(document.activeElement?.textContent, "the focus is not lost with the card").toBe("Inbox");
});

it("assigns an approval to the reader, and narrows the list to those", async () => {
  const asked = show("/inbox");
  const line = within(await screen.findByTestId("assignee"));
  expect(line.getByText("Assigned to Grace Hopper")).toBeDefined();
  fireEvent.click(line.getByRole("button", { name: "Assign to me" }));
  expect(await line.findByText("Assigned to you")).toBeDefined();
  expect(asked.assigned[0]).toMatchObject({ subject: "ada", actionId: { name: "ask", run: { name: "release-7" } } });
  expect(line.queryByRole("button", { name: "Assign to me" })).toBeNull();
  fireEvent.click(screen.getByRole("link", { name: "Assigned to me" }));
  await waitFor(() => expect(asked.listed.at(-1)?.mine).toBe(true));
  expect(await screen.findByTestId("paused")).toBeDefined();
});

it("says that nothing is assigned to the reader", async () => {
  show("/domain/d/project/p/inbox?mine=true");
  expect(await screen.findByText("Nothing assigned to you in p / d")).toBeDefined();
});

it("has no assignees where access is open", async () => {
  me.now = open;
  show("/inbox");
  expect(await screen.findByTestId("paused")).toBeDefined();
  expect(screen.queryByRole("button", { name: "Assign to me" })).toBeNull();
  expect(screen.queryByRole("link", { name: "Assigned to me" })).toBeNull();
});

it("says what an older server cannot do, and what went wrong", async () => {
  show("/inbox", new ConnectError("no", Code.Unimplemented));
  expect(await screen.findByText("This server cannot list pending approvals")).toBeDefined();
  cleanup();
  show("/inbox", new ConnectError("the database is away", Code.Unavailable));
  expect(await screen.findByText(/the database is away/)).toBeDefined();
});
