import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FoundSchema } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { RunSchema, RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { MenuList } from "./palette-list";

const server = vi.hoisted(() => ({ search: vi.fn(), listRuns: vi.fn(), list: vi.fn() }));
const navigate = vi.hoisted(() => vi.fn());
vi.mock("@/api/transport", () => ({
  client: ({ typeName }: { readonly typeName: string }) => ({
    search: server.search,
    list: server.list,
    listRuns: (): unknown => (server.listRuns as (service: string) => unknown)(typeName),
  }),
}));
vi.mock("@tanstack/react-router", () => ({ useNavigate: () => navigate }));
vi.mock("@/app/places", () => ({ useHere: () => ({ project: "p", domain: "d" }), useDestinations: () => [] }));
vi.mock("@/features/home/use-projects", () => ({ useProjects: () => ({ projects: [] }) }));

const found = (runSource: RunSource) => create(FoundSchema, { kind: "run", project: "p", domain: "d", name: "same", title: "train", runSource });
const run = (name: string, source: RunSource): Run => create(RunSchema, { action: { id: { run: { project: "p", domain: "d", name }, name: "a0" }, metadata: { source } } });
const open = () =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <MenuList onDone={() => undefined} onShortcuts={() => undefined} />
    </QueryClientProvider>,
  );
const runOptions = () => screen.getAllByRole("option").filter((option) => option.textContent.includes("p / d"));

beforeEach(() => {
  // The list of commands follows its size and the highlighted entry.
  vi.stubGlobal("ResizeObserver", class { observe() {} unobserve() {} disconnect() {} });
  Element.prototype.scrollIntoView = () => undefined;
  server.listRuns.mockResolvedValue({ runs: [] });
  server.list.mockResolvedValue({ apps: [] });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.resetAllMocks();
});

it("finds tracked runs and opens each run where it is", async () => {
  server.search.mockResolvedValue({ found: [found(RunSource.UNSPECIFIED), found(RunSource.TRACKED)] });
  open();
  fireEvent.change(screen.getByRole("combobox"), { target: { value: "same" } });
  await waitFor(() => expect(runOptions().map((option) => option.textContent.includes("Tracked"))).toEqual([false, true]));
  runOptions().forEach((option) => fireEvent.click(option));
  expect(navigate.mock.calls.map(([{ to }]) => to as unknown)).toEqual([
    "/domain/$domain/project/$project/runs/$run",
    "/domain/$domain/project/$project/tracked-runs/$run",
  ]);
});

it("finds apps of the place, and all else where apps cannot be listed", async () => {
  server.search.mockResolvedValue({ found: [found(RunSource.UNSPECIFIED)] });
  server.list.mockResolvedValueOnce({ apps: [{ metadata: { id: { name: "chat" } } }] });
  open();
  fireEvent.change(screen.getByRole("combobox"), { target: { value: "cha" } });
  fireEvent.click(await screen.findByRole("option", { name: /^chat/ }));
  expect(navigate).toHaveBeenCalledWith({ to: "/domain/$domain/project/$project/apps/$app", params: { project: "p", domain: "d", app: "chat" } });
  server.list.mockRejectedValue(new ConnectError("none", Code.Unimplemented));
  fireEvent.change(screen.getByRole("combobox"), { target: { value: "same" } });
  await waitFor(() => expect(runOptions()).toHaveLength(1));
});

it("offers the newest runs of both kinds, and those of one kind by a server that has no other", async () => {
  server.listRuns.mockImplementation((service: string) =>
    Promise.resolve({ runs: service.endsWith(".TrackedRunService") ? [run("local-1", RunSource.TRACKED)] : [run("mine", RunSource.CLI)] }),
  );
  open();
  await waitFor(() => expect(runOptions()).toHaveLength(2));
  cleanup();
  server.listRuns.mockImplementation((service: string) =>
    service.endsWith(".TrackedRunService") ? Promise.reject(new ConnectError("none", Code.Unimplemented)) : Promise.resolve({ runs: [run("mine", RunSource.CLI)] }),
  );
  open();
  await waitFor(() => expect(runOptions()).toHaveLength(1));
});
