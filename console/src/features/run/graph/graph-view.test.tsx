import { Code, ConnectError } from "@connectrpc/connect";
import { act, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { expect, it, vi } from "vitest";
import { create } from "@bufbuild/protobuf";
import { WatchRunActionsResponseSchema } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { GraphView } from "./graph-view";

vi.mock("@/api/transport", () => ({ client: () => ({ listDataFlow: () => Promise.reject(new ConnectError("no", Code.Unimplemented)) }) }));

const run = { project: "p", domain: "d", name: "r" };
const everything = () => true;

it("is a tree to keys and ears, and takes new phases where things are", async () => {
  const person = userEvent.setup();
  const chosen = vi.fn();
  const model = modelOf([
    { name: "a0", title: "main", phase: ActionPhase.RUNNING },
    { name: "b", parent: "a0", title: "load", started: 5, ended: 25 },
    ...Array.from({ length: 40 }, (_, i) => ({ name: `t${i}`, parent: "a0", title: "train" })),
  ]);
  const view = () => (
    <Tooltip.Provider>
      <GraphView run={run} model={model} version={model.version} selected="" onSelect={chosen} visible={everything} />
    </Tooltip.Provider>
  );
  const { rerender } = render(view());
  const group = await screen.findByRole("treeitem", { name: "×40 train, 40 succeeded" });
  expect(group.getAttribute("aria-expanded")).toBe("false");
  expect([group.getAttribute("aria-level"), group.getAttribute("aria-posinset"), group.getAttribute("aria-setsize")]).toEqual(["2", "2", "2"]);

  act(() => screen.getByRole("tree").focus());
  await person.keyboard("{ArrowDown}{ArrowDown}{Enter}");
  expect(chosen).toHaveBeenCalledWith("b");
  await person.keyboard("{ArrowDown}{ArrowRight}");
  await screen.findByRole("treeitem", { name: /^and 15 more/ });
  expect(screen.getAllByRole("treeitem")).toHaveLength(29);

  const before = screen.getByRole("treeitem", { name: /^load/ }).style.transform;
  model.apply(
    create(WatchRunActionsResponseSchema, {
      part: {
        case: "actions",
        value: { numbers: [1], names: ["b"], parents: [0], titles: [2], phases: [ActionPhase.FAILED], attempts: [2], started: [6], ended: [2006] },
      },
    }),
  );
  rerender(view());
  await waitFor(() => expect(screen.getByRole("treeitem", { name: /^load, Failed · 2\.0 s · attempt 2/ }).style.transform).toBe(before));
});
