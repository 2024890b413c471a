// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it, vi } from "vitest";
import { ConnectorInsightService } from "@gen/flytebinary/insight/v1/connectors_pb.js";
import { ActionAttemptSchema, type ActionAttempt } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Job } from "./job";

vi.mock("@tanstack/react-router", () => ({ Link: ({ children }: { children: unknown }) => <a href="/x">{children as string}</a> }));
vi.stubGlobal("ResizeObserver", class { observe() {} disconnect() {} });
afterEach(cleanup);

const attempt = (connector: string): ActionAttempt =>
  create(ActionAttemptSchema, {
    attempt: 1,
    logInfo: [
      { name: "Batch console", uri: "https://batch.example/7" },
      { name: "A trap", uri: "javascript:alert(1)" },
    ],
    clusterEvents: [
      { reason: "JobCreated", sourceComponent: "connector", message: `connector ${connector} runs it as job 7` },
      { reason: "Job", sourceComponent: "connector", message: "stage 2 of 5", occurredAt: { seconds: 100n } },
    ],
  });

const show = (of: ActionAttempt | undefined, live: boolean, service: Parameters<typeof createRouterTransport>[0]) =>
  render(
    <TransportProvider transport={createRouterTransport(service)}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Job action={{ run: { project: "p", domain: "d", name: "r" }, name: "a0" }} attempt={of} live={live} />
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );

it("shows which connector runs the job, how it is, and its metrics", async () => {
  show(attempt("apps/p/d/tools"), true, ({ service }) =>
    service(ConnectorInsightService, {
      getJob: () => ({ connector: "apps/p/d/tools", failedCalls: 3, problem: "the queue is being repaired" }),
      getJobMetrics: () => ({ metrics: [{ name: "slots", samples: [{ value: 2 }, { value: 3 }] }, { name: "progress", text: '{"done":3}' }], more: true }),
    }),
  );
  await screen.findByText("the queue is being repaired");
  await screen.findByText("slots");
  const words = screen.getByTestId("job").textContent;
  for (const one of ["tools", "7", "stage 2 of 5", "The last 3 calls", '{"done":3}', "more metrics than are shown"]) expect(words).toContain(one);
  expect(screen.getByRole("img", { name: "slots: last value 3" })).toBeTruthy();
});

it("shows a job that has ended by its events alone, and nothing for other attempts", () => {
  const asks = () => {
    throw new ConnectError("not asked", Code.Internal);
  };
  const { unmount } = show(attempt("batch"), false, ({ service }) => service(ConnectorInsightService, { getJob: asks, getJobMetrics: asks }));
  expect(screen.getByTestId("job").textContent).toContain("batch");
  expect(screen.getByRole("link", { name: "Batch console" }).getAttribute("href")).toBe("https://batch.example/7");
  expect(screen.queryByText("A trap")).toBeNull();
  expect(screen.queryByTestId("job-metrics")).toBeNull();
  unmount();
  show(create(ActionAttemptSchema, { attempt: 1 }), true, ({ service }) => service(ConnectorInsightService, {}));
  expect(screen.queryByTestId("job")).toBeNull();
});
