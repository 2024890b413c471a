import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it, vi } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { WatchRunActionsResponseSchema, type ActionColumns } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { none, RunModel } from "./run-model";

const start = (resumed: boolean, totalActions = 0) =>
  create(WatchRunActionsResponseSchema, { part: { case: "start", value: { resumed, totalActions, createdAt: timestampFromMs(1000) } } });
const caughtUp = (cursor: bigint) => create(WatchRunActionsResponseSchema, { part: { case: "caughtUp", value: { cursor, now: timestampFromMs(Date.now()) } } });
const actions = (value: Partial<Omit<ActionColumns, "$typeName" | "$unknown">>) =>
  create(WatchRunActionsResponseSchema, { part: { case: "actions", value } });

const tree = () =>
  actions({
    numbers: [0, 3, 4, 9],
    names: ["a0", "x", "y", "z"],
    parents: [0, 0, 0, 3],
    groups: [0, 1, 1, 0],
    titles: [2, 2, 2, 0],
    phases: [ActionPhase.RUNNING, ActionPhase.QUEUED, ActionPhase.QUEUED, ActionPhase.QUEUED],
    created: [0, 10, 11, 20],
    started: [6, 0, 0, 0],
    strings: ["", "pairs", "main"],
  });

function filled(): RunModel {
  const model = new RunModel();
  model.apply(start(false, 4));
  model.apply(tree());
  model.apply(caughtUp(7n));
  return model;
}

it("knows the clusters of actions, where there are several", () => {
  const model = filled();
  expect(model.spread).toBe(false);
  model.apply(actions({ numbers: [3, 4], phases: [ActionPhase.RUNNING, ActionPhase.RUNNING], clusters: [0, 3], strings: ["east"] }));
  expect(model.spread).toBe(true);
  expect(["x", "y", "z"].map((name) => model.cluster(model.row(name)))).toEqual(["", "east", ""]);
  model.apply(start(false, 0));
  expect(model.spread).toBe(false);
});

it("knows who is whose child", () => {
  const model = filled();
  const x = model.row("x");
  expect([...model.children(model.row("a0"))].map((row) => model.name(row))).toEqual(["x", "y"]);
  expect([...model.children(x)].map((row) => model.name(row))).toEqual(["z"]);
  expect(model.parent(model.row("a0"))).toBe(none);
  expect(model.parent(model.row("z"))).toBe(x);
  expect(model.number(model.row("z"))).toBe(9);
  expect(model.childCount(0)).toBe(2);
});

it("takes texts by their index, and names where there is none", () => {
  const model = filled();
  expect(model.group(model.row("x"))).toBe("pairs");
  expect(model.title(0)).toBe("main");
  expect(model.title(model.row("z"))).toBe("z");
});

it("takes changes in place and counts phases", () => {
  const model = filled();
  const listener = vi.fn();
  model.subscribe(listener);
  model.apply(actions({ numbers: [3], names: ["x"], parents: [0], phases: [ActionPhase.SUCCEEDED], created: [10], started: [13], ended: [21] }));
  const x = model.row("x");
  expect([model.size, model.phase(x), model.started(x), model.ended(x)]).toEqual([4, ActionPhase.SUCCEEDED, 12, 20]);
  expect(model.ended(model.row("y"))).toBe(none);
  expect([...model.counts].sort()).toEqual([
    [ActionPhase.QUEUED, 2],
    [ActionPhase.RUNNING, 1],
    [ActionPhase.SUCCEEDED, 1],
  ]);
  expect(listener).toHaveBeenCalledOnce();
});

it("keeps what it has when the stream resumes, and forgets when it does not", () => {
  const model = filled();
  expect([model.complete, model.cursor]).toEqual([true, 7n]);
  model.apply(start(true, 4));
  expect([model.complete, model.size, model.strings]).toEqual([true, 4, 3]);
  model.apply(actions({ numbers: [3], names: ["x"], parents: [0], groups: [3], strings: ["late"] }));
  expect([model.group(model.row("x")), model.group(model.row("y"))]).toEqual(["late", "pairs"]);
  model.apply(start(false, 4));
  expect([model.complete, model.size, model.cursor]).toEqual([false, 0, 0n]);
  model.apply(tree());
  expect([...model.children(0)]).toHaveLength(2);
});

it("knows siblings also when a resumed stream repeats a text", () => {
  const model = filled();
  model.apply(start(true, 5));
  model.apply(actions({ numbers: [12], names: ["late"], parents: [0], groups: [3], titles: [4], strings: ["pairs", "main"] }));
  expect(["x", "y", "late"].map((name) => model.siblings.place(model.row(name)))).toEqual([0, 1, 2]);
  expect(model.siblings.count(model.row("x"))).toBe(3);
});

it("says what changed: actions, or only what is known of their inputs", () => {
  const model = filled();
  const { version, actionsVersion } = model;
  model.inputs.changed();
  expect([model.version, model.actionsVersion]).toEqual([version + 1, actionsVersion]);
  model.apply(actions({ numbers: [3], phases: [ActionPhase.RUNNING] }));
  expect([model.version, model.actionsVersion]).toEqual([version + 2, actionsVersion + 1]);
});

it("grows beyond its first room", () => {
  const model = new RunModel();
  const n = 5000;
  const range = Array.from({ length: n }, (_, i) => i);
  model.apply(start(false, n));
  model.apply(actions({ numbers: range, names: range.map((i) => `n${i}`), parents: range.map(() => 0), created: range, strings: [""] }));
  expect(model.created(model.row("n4999"))).toBe(4999);
  expect(model.childCount(0)).toBe(n - 1);
});
