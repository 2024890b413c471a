import { create } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it } from "vitest";
import { DeliveryKind, DeliveryState, ListRulesResponseSchema, NotificationService, type SendTestRequest } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Toasts } from "@/design/toast";
import { RulesPage } from "./rules-page";

afterEach(cleanup);

const runId = { project: "p", domain: "d", name: "last-run" };
const rules = create(ListRulesResponseSchema, {
  rules: [
    {
      name: "oncall",
      phases: [ActionPhase.FAILED, ActionPhase.TIMED_OUT],
      everywhere: true,
      receivers: [
        { deliveryConfigName: "chat", kind: DeliveryKind.WEBHOOK, targets: ["chat.example.com"], last: { id: "1", runId, state: DeliveryState.DEAD, lastError: "it returned 410 Gone" } },
        { deliveryConfigName: "team", kind: DeliveryKind.EMAIL, targets: ["a@example.com", "b@example.com"] },
      ],
    },
  ],
});

it("says where a rule sends, how that went, and how a test goes", async () => {
  const sent: SendTestRequest[] = [];
  const transport = createRouterTransport(({ service }) =>
    service(NotificationService, {
      listRules: ({ projectId }) => (projectId?.name === "p" && projectId.domain === "d" ? rules : {}),
      sendTest: (request) => {
        sent.push(request);
        return {
          results: [
            { deliveryConfigName: "chat", kind: DeliveryKind.WEBHOOK, target: "chat.example.com", error: "it returned 500" },
            { deliveryConfigName: "team", kind: DeliveryKind.EMAIL, target: "a@example.com" },
          ],
        };
      },
    }),
  );
  const root = createRootRoute();
  const page = createRoute({ getParentRoute: () => root, path: "/domain/$domain/project/$project/notification-rules", component: RulesPage });
  const router = createRouter({ routeTree: root.addChildren([page]), history: createMemoryHistory({ initialEntries: ["/domain/d/project/p/notification-rules"] }) });
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
  const row = within(await screen.findByTestId("rule"));
  expect(row.getByText("All runs")).toBeDefined();
  expect(row.getByText(/it returned 410 Gone/)).toBeDefined();
  expect(row.getByRole("link", { name: "last-run" })).toBeDefined();
  expect(row.getByText(/a@example.com, b@example.com/)).toBeDefined();
  expect(row.getByText(/Has not fired here/)).toBeDefined();
  fireEvent.click(row.getByRole("button", { name: "Send a test" }));
  expect(await row.findByText("Not delivered")).toBeDefined();
  expect(row.getByText(/it returned 500/)).toBeDefined();
  expect(row.getByText("Delivered")).toBeDefined();
  expect(sent[0]).toMatchObject({ rule: "oncall", projectId: { name: "p", domain: "d" } });
});
