import { expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { find, firstFailure, filterOf } from "./find";
import { modelOf } from "@/entities/run/model/run-model.fixture";

const failed = ActionPhase.FAILED;
const model = modelOf([
  { name: "a0", phase: failed, ended: 50 },
  { name: "late", parent: "a0", phase: failed, ended: 40 },
  { name: "parent", parent: "a0", phase: failed, ended: 20 },
  { name: "cause", parent: "parent", phase: ActionPhase.TIMED_OUT, ended: 15 },
  { name: "good", parent: "a0" },
]);

it("finds the failure that explains the others", () => {
  expect(model.name(firstFailure(model))).toBe("cause");
  expect(firstFailure(modelOf([{ name: "a0" }]))).toBe(-1);
});

it("wants everything when nothing is said, and ignores phases that it does not know", () => {
  expect(find(model, filterOf({ q: " ", phases: "no-such" }))).toBeUndefined();
});

it("tells what matches from what leads to it", () => {
  const found = find(model, filterOf({ phases: "timed-out" }));
  const names = (test: ((row: number) => boolean) | undefined) =>
    Array.from({ length: model.size }, (_, row) => row)
      .filter((row) => test?.(row))
      .map((row) => model.name(row));
  expect(found?.count).toBe(1);
  expect(names(found?.matches)).toEqual(["cause"]);
  expect(names(found?.shown)).toEqual(["a0", "parent", "cause"]);
});
