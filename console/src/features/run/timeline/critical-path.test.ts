import { describe, expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { criticalPath, type CriticalPath } from "./critical-path";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import type { RunModel } from "@/entities/run/model/run-model";

const told = (model: RunModel, path: CriticalPath) => path.steps.map(({ row, from, to, waiting }) => [model.name(row), from, to, waiting ? "waits" : "runs"]);

describe("the critical path", () => {
  it("is the action alone when there are no others", () => {
    const model = modelOf([{ name: "a0", started: 30, ended: 100 }]);
    expect(told(model, criticalPath(model))).toEqual([
      ["a0", 0, 30, "waits"],
      ["a0", 30, 100, "runs"],
    ]);
  });

  it("goes through the child that ended last, and through the one before it", () => {
    const model = modelOf([
      { name: "a0", started: 10, ended: 100 },
      { name: "fast", parent: "a0", created: 20, started: 25, ended: 30 },
      { name: "slow", parent: "a0", created: 20, started: 22, ended: 50 },
      { name: "after", parent: "a0", created: 55, started: 60, ended: 95 },
      { name: "beside", parent: "a0", created: 55, started: 56, ended: 58 },
    ]);
    const path = criticalPath(model);
    expect(told(model, path)).toEqual([
      ["a0", 0, 10, "waits"],
      ["a0", 10, 20, "runs"],
      ["slow", 20, 22, "waits"],
      ["slow", 22, 50, "runs"],
      ["a0", 50, 55, "runs"],
      ["after", 55, 60, "waits"],
      ["after", 60, 95, "runs"],
      ["a0", 95, 100, "runs"],
    ]);
    expect(path.shares.map(({ row, waited, worked, share }) => [model.name(row), waited, worked, share])).toEqual([
      ["a0", 10, 20, 0.3],
      ["slow", 2, 28, 0.3],
      ["after", 5, 35, 0.4],
    ]);
  });

  it("goes down to the children of children, and adds up to the whole", () => {
    const model = modelOf([
      { name: "a0", started: 0, ended: 100 },
      { name: "b", parent: "a0", created: 10, started: 20, ended: 90 },
      { name: "c", parent: "b", created: 30, started: 35, ended: 80 },
    ]);
    const path = criticalPath(model);
    expect(told(model, path).map(([name]) => name)).toEqual(["a0", "b", "b", "c", "c", "b", "a0"]);
    path.steps.forEach((step, i) => expect(step.from).toBe(path.steps[i - 1]?.to ?? 0));
    expect(path.shares.reduce((sum, share) => sum + share.share, 0)).toBeCloseTo(1);
  });

  it("does not blame what the failed parent did not wait for", () => {
    const model = modelOf([
      { name: "a0", phase: ActionPhase.FAILED, started: 0, ended: 50 },
      { name: "fails", parent: "a0", phase: ActionPhase.FAILED, created: 5, started: 6, ended: 45 },
      { name: "stopped", parent: "a0", phase: ActionPhase.ABORTED, created: 5, started: 6, ended: 60 },
    ]);
    expect(criticalPath(model).shares.map(({ row }) => model.name(row))).toEqual(["a0", "fails"]);
  });

  it("shows what an aborted run was waiting for", () => {
    const model = modelOf([
      { name: "a0", phase: ActionPhase.ABORTED, started: 0, ended: 50 },
      { name: "b", parent: "a0", phase: ActionPhase.ABORTED, created: 5, started: 6, ended: 60 },
    ]);
    expect(told(model, criticalPath(model)).at(-1)).toEqual(["b", 6, 50, "runs"]);
  });

  it("of a live run is the path so far, through the longest active action", () => {
    const model = modelOf([
      { name: "a0", phase: ActionPhase.RUNNING, started: 0 },
      { name: "old", parent: "a0", phase: ActionPhase.RUNNING, created: 5, started: 6 },
      { name: "done", parent: "a0", created: 5, started: 6, ended: 20 },
      { name: "young", parent: "a0", phase: ActionPhase.RUNNING, created: 40, started: 41 },
    ]);
    expect(told(model, criticalPath(model, 100)).at(-1)).toEqual(["old", 6, 100, "runs"]);
  });

  it("survives times that contradict each other", () => {
    const model = modelOf([
      { name: "a0", started: 0, ended: 100 },
      { name: "early", parent: "a0", created: 0, started: 0, ended: 50 },
      { name: "inside", parent: "early", created: 20, started: 10, ended: 45 },
      { name: "instant", parent: "early", created: 30, started: 30, ended: 30 },
    ]);
    const path = criticalPath(model);
    expect(path.steps.reduce((sum, step) => sum + step.to - step.from, 0)).toBe(100);
  });

  it("follows long chains and deep ones", () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => ({ name: `c${i}`, parent: "a0", created: i, started: i, ended: i + 1 }));
    const model = modelOf([{ name: "a0", started: 0, ended: 20_000 }, ...chain]);
    expect(criticalPath(model).steps).toHaveLength(20_000);
    const deep = Array.from({ length: 20_000 }, (_, i) => ({ name: `c${i}`, parent: i === 0 ? "a0" : `c${i - 1}`, created: i, started: i, ended: 50_000 - i }));
    expect(criticalPath(modelOf([{ name: "a0", started: 0, ended: 50_000 }, ...deep])).steps.length).toBeGreaterThan(20_000);
  });
});
