import { create } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it } from "vitest";
import {
  DeliveryKind,
  DeliverySchema,
  DeliveryState,
  NotificationService,
  type ListDeliveriesRequest,
  type RetryDeliveryRequest,
} from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Toasts } from "@/design/toast";
import { RunNotifications } from "./run-notifications";

afterEach(cleanup);

it("lists the notifications of the run, and sends one again", async () => {
  const listed: ListDeliveriesRequest[] = [];
  const retried: RetryDeliveryRequest[] = [];
  let state = DeliveryState.DEAD;
  const runId = { project: "p", domain: "d", name: "r" };
  const transport = createRouterTransport(({ service }) =>
    service(NotificationService, {
      listDeliveries: (request) => {
        listed.push(request);
        const one = { id: "k1", runId, action: "a0", phase: ActionPhase.FAILED, kind: DeliveryKind.WEBHOOK, target: "example.com", tries: 3, lastError: "it returned 410 Gone" };
        return { deliveries: [create(DeliverySchema, { ...one, state })] };
      },
      retryDelivery: (request) => {
        retried.push(request);
        state = DeliveryState.DELIVERED;
        return {};
      },
    }),
  );
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Toasts>
            <RunNotifications run={runId} />
          </Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
  expect(await screen.findByText("Undelivered")).toBeDefined();
  expect(screen.getByText("it returned 410 Gone")).toBeDefined();
  expect(listed[0]?.scope).toMatchObject({ case: "runId", value: runId });
  fireEvent.click(screen.getByRole("button", { name: "Send again" }));
  await waitFor(() => expect(screen.getByText("Delivered")).toBeDefined());
  expect(retried[0]).toMatchObject({ runId, deliveryId: "k1" });
  expect(screen.queryByRole("button", { name: "Send again" })).toBeNull();
});
