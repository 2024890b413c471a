import { expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { alignTitles, change, pairsOf, durationOf } from "./align";

const a = modelOf([
  { name: "a0", title: "main", started: 0, ended: 100 },
  { name: "x", parent: "a0", title: "square", started: 10, ended: 20 },
  { name: "y", parent: "a0", title: "square", started: 10, ended: 40 },
  { name: "z", parent: "a0", title: "gone", started: 10, ended: 15 },
]);
const b = modelOf([
  { name: "a0", title: "main", started: 0, ended: 160 },
  { name: "y", parent: "a0", title: "square", started: 20, ended: 30 },
  { name: "w", parent: "a0", title: "square", started: 20, ended: 60, phase: ActionPhase.FAILED },
  { name: "v", parent: "a0", title: "square", created: 5, phase: ActionPhase.RUNNING, started: 6 },
]);

it("puts the actions of a title beside each other, the greatest difference first", () => {
  expect(alignTitles(a, b).map(({ title, difference }) => [title, difference])).toEqual([
    ["main", 60],
    ["square", 10],
    ["gone", -5],
  ]);
  expect(alignTitles(a, b)[1]).toMatchObject({ a: { count: 2, total: 40, median: 10, longest: 30, failed: 0 }, b: { count: 3, total: 50, failed: 1 } });
});

it("pairs the actions of the same name, and the others in their order", () => {
  expect(pairsOf(a, b, "square").map(({ name, a: one, b: other }) => [name, one, other])).toEqual([
    ["y", 2, 1],
    ["x", 1, 2],
    ["v", undefined, 3],
  ]);
  expect(pairsOf(a, b, "gone")).toEqual([{ name: "z", a: 3, b: undefined }]);
});

it("does not say how long it durationOf what has not ended", () => {
  expect(durationOf(b, 3)).toBeUndefined();
  expect(durationOf(b, 2)).toBe(40);
  expect(change(50, 75)).toBe(50);
  expect(change(0, 75)).toBeUndefined();
});
