import { expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { find, filterOf } from "../find";
import type { RunModel } from "@/entities/run/model/run-model";
import { modelOf, type Made } from "@/entities/run/model/run-model.fixture";
import { linesOf } from "./lines";
import { above, openness } from "./openness";
import { Outline } from "./outline";

const actions: readonly Made[] = [
  { name: "a0", title: "main", phase: ActionPhase.RUNNING },
  { name: "x", parent: "a0", title: "load" },
  { name: "p1", parent: "a0", group: "pairs", title: "pair" },
  { name: "y", parent: "a0", title: "score" },
  { name: "p2", parent: "a0", group: "pairs", title: "pair", phase: ActionPhase.FAILED },
  { name: "z", parent: "p2", title: "deep", phase: ActionPhase.FAILED },
];

function outlineOf(model: RunModel): Outline {
  const outline = new Outline(model);
  outline.update();
  return outline;
}

const words = (outline: Outline, open: (node: number) => boolean = () => true, shown: (row: number) => boolean = () => true): string[] => {
  const lines = linesOf(outline, open, shown);
  return Array.from({ length: lines.count }, (_, line) => {
    const node = lines.nodes[line] ?? 0;
    const row = outline.row(node);
    return `${"  ".repeat(lines.depths[line] ?? 0)}${row < 0 ? `[${outline.group(node)}]` : outline.model.name(row)}`;
  });
};

it("puts the members of a group where the first of them is", () => {
  expect(words(outlineOf(modelOf(actions)))).toEqual(["a0", "  x", "  [pairs]", "    p1", "    p2", "      z", "  y"]);
});

it("leaves out what is below closed nodes", () => {
  const outline = outlineOf(modelOf(actions));
  expect(words(outline, (node) => outline.row(node) >= 0)).toEqual(["a0", "  x", "  [pairs]", "  y"]);
  expect(words(outline, () => false)).toEqual(["a0"]);
});

it("shows what is looked for with what leads there, and no empty groups", () => {
  const model = modelOf(actions);
  const outline = outlineOf(model);
  const shownFor = (search: { q?: string; phases?: string }) => words(outline, () => true, find(model, filterOf(search))?.shown);
  expect(shownFor({ q: "DEEP" })).toEqual(["a0", "  [pairs]", "    p2", "      z"]);
  expect(shownFor({ q: "load" })).toEqual(["a0", "  x"]);
  expect(shownFor({ q: "pairs", phases: "failed" })).toEqual(["a0", "  [pairs]", "    p2"]);
  expect(shownFor({ q: "nothing" })).toEqual([]);
});

it("counts what is below by phase", () => {
  const outline = outlineOf(modelOf(actions));
  expect(outline.counts(0)).toEqual(new Map([[ActionPhase.SUCCEEDED, 3], [ActionPhase.FAILED, 2]]));
  const group = outline.parent(outline.node(2));
  expect([outline.failures(group), outline.members(group), outline.key(group)]).toEqual([2, 2, "a0/pairs"]);
});

it("grows with its model, and begins anew with it", () => {
  const model = modelOf(actions.slice(0, 2));
  const outline = outlineOf(model);
  modelOf(actions, model);
  outline.update();
  expect(words(outline)).toHaveLength(7);
  expect(outline.counts(0).get(ActionPhase.FAILED)).toBe(2);
});

it("closes large groups until they are opened, searched or lead to what is selected", () => {
  const many = Array.from({ length: 500 }, (_, i) => ({ name: `n${i}`, parent: "a0", group: "all" }));
  const outline = outlineOf(modelOf([{ name: "a0" }, ...many]));
  const count = (choices: Map<string, boolean>, searching: boolean, selected: number) =>
    linesOf(outline, openness(outline, choices, searching, above(outline, selected)), () => true).count;
  expect(count(new Map(), false, 0)).toBe(2);
  expect(count(new Map([["a0/all", true]]), false, 0)).toBe(502);
  expect(count(new Map(), true, 0)).toBe(502);
  expect(count(new Map(), false, outline.node(7))).toBe(502);
  expect(count(new Map([["a0", false]]), false, 0)).toBe(1);
});
