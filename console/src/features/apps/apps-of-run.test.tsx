import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import {
  AppInsightService,
  AppUseSchema,
  ListAppsOfRunResponseSchema,
  type ListAppsOfRunRequest,
  type ListAppsOfRunResponse,
} from "@gen/flytebinary/insight/v1/apps_pb.js";
import { appOf } from "./apps.fixture";
import { AppsOfRun } from "./apps-of-run";
import { Used } from "./used";

vi.mock("@tanstack/react-router", () => ({
  Link: ({ to, params, search, children }: LinkProps) => (
    <a href={to.replaceAll(/\$(\w+)/g, (_, key: string) => params[key] ?? "") + (search ? `?${new URLSearchParams(search)}` : "")}>{children}</a>
  ),
}));
interface LinkProps {
  readonly to: string;
  readonly params: Record<string, string>;
  readonly search?: Record<string, string>;
  readonly children: ReactNode;
}

afterEach(cleanup);

const uri = "s3://bucket/p/d/train-1.abcdefghijklmnop/e1/1/x/model.bin";
const use = create(AppUseSchema, {
  input: "model",
  used: { case: "value", value: uri },
  actionId: { run: { project: "p", domain: "d", name: "train-1" }, name: "e1" },
});
const page = (name: string, token = "") => create(ListAppsOfRunResponseSchema, { apps: [{ app: appOf(name), uses: [use] }], token });

function open(answer: (request: ListAppsOfRunRequest) => ListAppsOfRunResponse) {
  const transport = createRouterTransport(({ service }) => service(AppInsightService, { listAppsOfRun: answer }));
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <AppsOfRun run={{ project: "p", domain: "d", name: "train-1" }} />
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
}
const link = (name: string) => screen.getByRole("link", { name }).getAttribute("href");

it("lists the apps of a run page by page, with the inputs and the actions that their values come from", async () => {
  const asked: ListAppsOfRunRequest[] = [];
  open((request) => {
    asked.push(request);
    return request.token === "" ? page("chat", "next") : page("old");
  });
  expect(await screen.findByRole("listitem")).toBeTruthy();
  expect(asked[0]?.runId).toMatchObject({ project: "p", domain: "d", name: "train-1" });
  expect(link("chat")).toBe("/domain/d/project/p/apps/chat");
  expect(link("input model, action e1")).toBe("/domain/d/project/p/runs/train-1?view=apps&action=e1");
  expect(screen.getByText("Active")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "More apps" }));
  expect(await screen.findByRole("link", { name: "old" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "More apps" })).toBeNull();
});

it("says that no app uses the run, and what went wrong", async () => {
  open(() => create(ListAppsOfRunResponseSchema));
  expect(await screen.findByText("No app uses outputs of this run")).toBeTruthy();
  cleanup();
  open(() => {
    throw new ConnectError("the database is away", Code.Internal);
  });
  expect(await screen.findByText(/the database is away/)).toBeTruthy();
});

it("leads from an input to the action whose output it is, if that is known", () => {
  render(<Used {...use} />);
  expect(link("run train-1, action e1")).toBe("/domain/d/project/p/runs/train-1?action=e1");
  expect(screen.getByText(uri)).toBeTruthy();
  cleanup();
  render(<Used {...use} actionId={undefined} />);
  expect(screen.queryByRole("link")).toBeNull();
  expect(screen.getByText(uri)).toBeTruthy();
});
