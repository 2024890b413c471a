import { create } from "@bufbuild/protobuf";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it, vi } from "vitest";
import { ListConnectorsResponseSchema } from "@gen/flytebinary/insight/v1/connectors_pb.js";
import { Connectors } from "./connectors";

const server = vi.hoisted(() => ({ listConnectors: vi.fn() }));
vi.mock("@/api/transport", () => ({ client: () => server }));
afterEach(cleanup);

it("shows connectors with their health, their jobs and the last error", async () => {
  server.listConnectors.mockResolvedValue(
    create(ListConnectorsResponseSchema, {
      connectors: [
        {
          ...{ name: "batch", url: "http://batch:8000", taskTypes: ["batch_job"], types: 3, answeredAt: { seconds: 1n } },
          ...{ jobs: 1200n, maxJobs: 2000n, deleting: 2n, waiting: 5n, lastError: "the queue is being repaired" },
        },
        { name: "away", url: "http://away:8000", problem: "connection refused" },
      ],
    }),
  );
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Tooltip.Provider>
        <Connectors />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  await screen.findByText("batch");
  const rows = screen.getAllByRole("row").slice(1);
  for (const words of ["http://batch:8000", "batch_job and 2 more", "Answers", "of 2", "2 to be deleted", "the queue is being repaired"]) {
    expect(rows[0]?.textContent).toContain(words);
  }
  for (const words of ["Does not answer", "connection refused", "it never answered"]) {
    expect(rows[1]?.textContent).toContain(words);
  }
  expect(screen.queryByText("More connectors")).toBeNull();
});
