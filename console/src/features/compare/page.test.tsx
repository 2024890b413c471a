import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunDetailsSchema, RunSchema, RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { TrackedRunService } from "@gen/flyteidl2/workflow/tracked_run_service_pb.js";
import type { CompareSearch } from "@/entities/run/comparison";
import { ComparePage } from "./page";

const at = vi.hoisted((): { search: CompareSearch } => ({ search: {} }));
const navigate = vi.hoisted(() => vi.fn());
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ project: "p", domain: "d" }),
  useSearch: () => at.search,
  useNavigate: () => navigate,
  Link: ({ to, params, children }: { readonly to: string; readonly params: Record<string, string>; readonly children: ReactNode }) => (
    <a href={to.replaceAll(/\$(\w+)/g, (_, key: string) => params[key] ?? "")}>{children}</a>
  ),
}));
/** Which services were asked to follow a run or its actions, and about which data. */
const server = vi.hoisted(() => ({ watched: [] as string[], data: [] as string[] }));
vi.mock("@/entities/run/use-run", () => ({
  useRunDetails: (run: { readonly name: string; readonly tracked?: boolean }) => {
    server.watched.push(`${run.tracked ? "tracked " : ""}${run.name}`);
    return { state: details, problem: undefined }; // the same in each rendering, as of a stream that says nothing new
  },
}));
const details = create(RunDetailsSchema);
vi.mock("./timings", () => ({ Timings: () => null }));

const run = (name: string, minute: number, source: RunSource) =>
  create(RunSchema, {
    action: {
      id: { run: { project: "p", domain: "d", name }, name: "a0" },
      metadata: { source },
      status: { phase: ActionPhase.SUCCEEDED, startTime: timestampFromMs(minute * 60_000) },
    },
  });

function open(search: CompareSearch) {
  at.search = search;
  const transport = createRouterTransport(({ service }) => {
    service(RunService, { listRuns: () => ({ runs: [run("same", 10, RunSource.CLI), run("other", 5, RunSource.CLI)] }), getRunDetails: () => ({}) });
    service(TrackedRunService, { listRuns: () => ({ runs: [run("same", 20, RunSource.TRACKED)] }), getRunDetails: () => ({}) });
    service(DataProxyService, {
      getActionData: ({ actionId, runSource }) => {
        server.data.push(`${actionId?.run?.name ?? ""} ${RunSource[runSource]}`);
        return {};
      },
    });
  });
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Tooltip.Provider>
          <ComparePage />
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
}

beforeEach(() => {
  server.watched.length = 0;
  server.data.length = 0;
});
afterEach(() => {
  cleanup();
  vi.resetAllMocks();
});

it("offers runs of both kinds, and compares a run with the tracked one of the same name", async () => {
  open({ a: "same" });
  const picker = within(await screen.findByTestId("run-picker"));
  await waitFor(() => expect(picker.getAllByRole("listitem").map((each) => each.querySelector("code")?.textContent)).toEqual(["same", "other"]));
  const [first] = picker.getAllByRole("button");
  expect(first?.textContent).toContain("Tracked");
  fireEvent.click(first as HTMLElement);
  expect(navigate).toHaveBeenCalledWith(expect.objectContaining({ search: { a: "same", b: "tracked:same" } }));
});

it("reads both runs where they are, and links to them", async () => {
  open({ a: "same", b: "tracked:same" });
  await waitFor(() => expect([...server.data].sort()).toEqual(["same TRACKED", "same UNSPECIFIED"]));
  expect([...new Set(server.watched)].sort()).toEqual(["same", "tracked same"]);
  const links = screen.getAllByRole("link", { name: "same" });
  expect(links.map((link) => link.getAttribute("href"))).toEqual(["/domain/d/project/p/runs/same", "/domain/d/project/p/tracked-runs/same"]);
  expect(within(screen.getByTestId("side-b")).getByText("Tracked")).toBeTruthy();
  fireEvent.click(within(screen.getByTestId("side-a")).getByRole("button", { name: "Change run A" }));
  expect(navigate).toHaveBeenCalledWith(expect.objectContaining({ search: { b: "tracked:same" } }));
});
