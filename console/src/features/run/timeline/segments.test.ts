import { expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { coarseSegments, segmentsOf, type Segment } from "./segments";

const told = (segments: readonly Segment[]) => segments.map(({ stage, attempt, from, to, drawnAs }) => [stage, attempt, from, to, ActionPhase[drawnAs]]);

it("without changes of phase tells waiting and running apart", () => {
  const model = modelOf([{ name: "a0", created: 5, started: 10, ended: 40, phase: ActionPhase.FAILED }]);
  expect(told(coarseSegments(model, 0, 99))).toEqual([
    ["queued", 1, 5, 10, "QUEUED"],
    ["running", 1, 10, 40, "FAILED"],
  ]);
  const waiting = modelOf([{ name: "a0", created: 5, phase: ActionPhase.INITIALIZING }]);
  expect(told(coarseSegments(waiting, 0, 99))).toEqual([["initializing", 1, 5, 99, "INITIALIZING"]]);
});

it("gives each attempt the colour of its end", () => {
  const model = modelOf([{ name: "a0", started: 10, attempt: 2, phase: ActionPhase.RUNNING }]);
  const changes = [
    { attempt: 1, phase: ActionPhase.QUEUED, at: 0 },
    { attempt: 1, phase: ActionPhase.INITIALIZING, at: 4 },
    { attempt: 1, phase: ActionPhase.RUNNING, at: 10 },
    { attempt: 1, phase: ActionPhase.FAILED, at: 20 },
    { attempt: 2, phase: ActionPhase.QUEUED, at: 30 },
    { attempt: 2, phase: ActionPhase.RUNNING, at: 33 },
  ];
  expect(told(segmentsOf(model, 0, changes, 50))).toEqual([
    ["queued", 1, 0, 4, "QUEUED"],
    ["initializing", 1, 4, 10, "INITIALIZING"],
    ["running", 1, 10, 20, "FAILED"],
    ["backoff", 2, 20, 30, "QUEUED"],
    ["queued", 2, 30, 33, "QUEUED"],
    ["running", 2, 33, 50, "RUNNING"],
  ]);
});

it("joins what goes on, and takes an attempt that another one replaced for failed", () => {
  const model = modelOf([{ name: "a0", started: 10, ended: 60, attempt: 2 }]);
  const changes = [
    { attempt: 1, phase: ActionPhase.RUNNING, at: 10 },
    { attempt: 1, phase: ActionPhase.RUNNING, at: 15 },
    { attempt: 2, phase: ActionPhase.RUNNING, at: 30 },
    { attempt: 2, phase: ActionPhase.SUCCEEDED, at: 60 },
  ];
  expect(told(segmentsOf(model, 0, changes, 99))).toEqual([
    ["queued", 1, 0, 10, "QUEUED"],
    ["running", 1, 10, 30, "FAILED"],
    ["running", 2, 30, 60, "SUCCEEDED"],
  ]);
});
