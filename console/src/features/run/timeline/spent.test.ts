import { expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { criticalPath } from "./critical-path";
import { coarseSegments, segmentsOf, type Change } from "./segments";
import { spentOf } from "./spent";

const { QUEUED, INITIALIZING, RUNNING, PAUSED, FAILED, SUCCEEDED } = ActionPhase;
const changes = (...list: readonly (readonly [attempt: number, phase: ActionPhase, at: number])[]): Change[] =>
  list.map(([attempt, phase, at]) => ({ attempt, phase, at }));

it("does not count the pauses and starts of retries as running", () => {
  const model = modelOf([{ name: "a0", attempt: 3, started: 20, ended: 200 }]);
  const { steps } = criticalPath(model);
  const log = changes(
    [1, QUEUED, 0],
    [1, INITIALIZING, 10],
    [1, RUNNING, 20],
    [1, FAILED, 30],
    [2, QUEUED, 60],
    [2, INITIALIZING, 70],
    [2, RUNNING, 90],
    [2, FAILED, 95],
    [3, QUEUED, 145],
    [3, RUNNING, 160],
    [3, SUCCEEDED, 200],
  );
  expect(spentOf(steps, segmentsOf(model, 0, log, 200))).toEqual({ waited: 20, ran: 10 + 5 + 40, paused: 0, between: 60 + 65 });
  // Before the changes are loaded, all of it seems to run.
  expect(spentOf(steps, coarseSegments(model, 0, 200))).toEqual({ waited: 20, ran: 180, paused: 0, between: 0 });
});

it("tells waiting for a person from running", () => {
  const model = modelOf([{ name: "a0", started: 5, ended: 100 }]);
  const log = changes([1, QUEUED, 0], [1, RUNNING, 5], [1, PAUSED, 10], [1, RUNNING, 90], [1, SUCCEEDED, 100]);
  expect(spentOf(criticalPath(model).steps, segmentsOf(model, 0, log, 100))).toEqual({ waited: 5, ran: 15, paused: 80, between: 0 });
});

it("counts only what is on the path", () => {
  const model = modelOf([
    { name: "a0", started: 0, ended: 100 },
    { name: "child", parent: "a0", created: 40, started: 50, ended: 90 },
  ]);
  const own = criticalPath(model).steps.filter(({ row }) => row === 0);
  const log = changes([1, RUNNING, 0], [1, FAILED, 20], [2, RUNNING, 30], [2, SUCCEEDED, 100]);
  expect(spentOf(own, segmentsOf(model, 0, log, 100))).toEqual({ waited: 0, ran: 40, paused: 0, between: 10 });
});
