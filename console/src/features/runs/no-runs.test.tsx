import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { Toasts } from "@/design/toast";
import { NoRuns } from "./no-runs";

vi.mock("@tanstack/react-router", () => ({ Link: ({ to, children }: { readonly to: string; readonly children: ReactNode }) => <a href={to}>{children}</a> }));

const transport = createRouterTransport(({ service }) => {
  service(ProjectService, {
    getProject: ({ id }) => {
      if (id !== "kitchen") throw new ConnectError("no such project", Code.NotFound);
      return { project: { id, domains: [{ id: "development" }] } };
    },
  });
});

const open = (project: string, domain: string) =>
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <Toasts>
            <NoRuns place={{ project, domain }} />
          </Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );

afterEach(cleanup);

it("says how to start the first run of a project", async () => {
  open("kitchen", "development");
  expect(await screen.findByText("flyte run -p kitchen -d development hello.py main")).toBeTruthy();
});

it("does not offer a run in a project or domain that does not exist", async () => {
  open("nope", "development");
  expect(await screen.findByText("There is no project nope")).toBeTruthy();
  expect(screen.getByRole("link", { name: "all projects" }).getAttribute("href")).toBe("/");
  cleanup();
  open("kitchen", "moon");
  expect(await screen.findByText("Project kitchen has no domain moon")).toBeTruthy();
  expect(screen.queryByText(/flyte run/)).toBeNull();
});
