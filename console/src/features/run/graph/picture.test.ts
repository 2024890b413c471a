import { describe, expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { RunModel } from "@/entities/run/model/run-model";
import { modelOf, madeUpRun, type Made } from "@/entities/run/model/run-model.fixture";
import { atOnce } from "@/features/run/pacing/chunks";
import { Folds } from "./folds";
import { maxNodes, pictureOf, type GraphNode } from "./picture";
import { describe as say, nameOf } from "./words";

const everything = () => true;
const draw = (model: RunModel, folds = new Folds(), visible: (row: number) => boolean = everything) => atOnce(pictureOf(model, visible, folds));
const told = (model: RunModel, nodes: readonly GraphNode[]) => nodes.map((node) => `${"  ".repeat(node.level - 1)}${nameOf(model, node)}`);
const many = (title: string, n: number, more: Partial<Made> = {}): Made[] =>
  Array.from({ length: n }, (_, i) => ({ name: `${title}${i}`, parent: "a0", title, ...more }));

describe("what is drawn of a run", () => {
  it("is each action of a small one below its parent", () => {
    const model = modelOf([
      { name: "a0", title: "main" },
      { name: "b", parent: "a0", title: "load" },
      { name: "c", parent: "a0", title: "train" },
      { name: "d", parent: "b", title: "read" },
    ]);
    const { nodes, parents } = draw(model);
    expect(told(model, nodes)).toEqual(["main", "  load", "    read", "  train"]);
    expect(nodes.map((node) => [node.place, node.places])).toEqual([
      [1, 1],
      [1, 2],
      [1, 1],
      [2, 2],
    ]);
    expect(parents.map((row) => model.name(row))).toEqual(["a0", "b"]);
  });

  it("has the many of a kind in one node, which says how many failed", () => {
    const model = modelOf([
      { name: "a0", title: "main" },
      { name: "l", parent: "a0", title: "load" },
      ...many("train", 1234).map((made, i) => (i % 100 === 3 ? { ...made, phase: ActionPhase.FAILED } : made)),
    ]);
    const { nodes, byId } = draw(model);
    expect(told(model, nodes)).toEqual(["main", "  load", "  ×1,234 train"]);
    const group = nodes[2];
    expect(group?.kind === "group" && [group.count, group.failures, group.open]).toEqual([1234, 13, false]);
    expect(group && say(model, { nodes, byId, parents: [], full: false }, group, [])).toBe("×1,234 train, 13 failed, 1,221 succeeded");
  });

  it("tells kinds apart by the program's groups too", () => {
    const model = modelOf([{ name: "a0" }, ...many("x", 10, { group: "one" }), ...many("y", 10, { group: "two", title: "x" })]);
    expect(draw(model).nodes.map((node) => node.kind === "group" && [node.title, node.group, node.count])).toEqual([false, ["x", "one", 10], ["x", "two", 10]]);
  });

  it("opens a group a page at a time, what failed first, and keeps what it drew", () => {
    const actions = [{ name: "a0" }, ...many("t", 200, { phase: ActionPhase.RUNNING })];
    const failing = modelOf(actions.map((made) => (made.name === "t150" ? { ...made, phase: ActionPhase.FAILED } : made)));
    const folds = new Folds();
    const group = draw(failing, folds).nodes[1]?.id ?? "";
    folds.set(group, true);
    const names = (model: RunModel) => draw(model, folds).nodes.flatMap((node) => (node.kind === "action" ? [model.name(node.row)] : []));
    const open = draw(failing, folds);
    expect(told(failing, open.nodes).at(-1)).toBe("    and 175 more");
    expect(names(failing).slice(-2)).toEqual(["t23", "t150"]);
    // Another one fails: nothing moves for that.
    const later = modelOf(actions.map((made) => (made.name === "t180" ? { ...made, phase: ActionPhase.FAILED } : made)));
    expect(names(later)).toEqual(names(failing));
    folds.more(group);
    expect(names(later)).toContain("t180");
    expect(names(later)).toHaveLength(51);
  });

  it("never is more than can be drawn, whatever is opened", () => {
    const model = madeUpRun(20_000, 40);
    const folds = new Folds();
    for (let i = 0; i < 60; i++) {
      for (const node of draw(model, folds).nodes) {
        if (node.kind === "more") folds.more(node.parent);
        else if (!node.open) folds.set(node.id, true);
      }
    }
    const { nodes, full } = draw(model, folds);
    expect(nodes.length).toBeLessThanOrEqual(maxNodes);
    expect(nodes.length).toBeGreaterThan(maxNodes - 30);
    expect(full).toBe(true);
  });

  it("leaves out what is not visible", () => {
    const model = modelOf([{ name: "a0" }, ...many("t", 20)]);
    expect(draw(model, new Folds(), (row) => row < 4).nodes).toHaveLength(4);
  });

  it("draws what is pinned though there is no room on the page", () => {
    const model = modelOf([{ name: "a0" }, ...many("t", 200)]);
    const folds = new Folds();
    const group = draw(model, folds).nodes[1]?.id ?? "";
    folds.set(group, true);
    folds.pin(new Set(["a:t199"]));
    expect(draw(model, folds).byId.has("a:t199")).toBe(true);
  });

  it("stays open as it was opened by itself, and closed as it was closed", () => {
    const folds = new Folds();
    expect([folds.isOpen("x", true), folds.isOpen("x", false)]).toEqual([true, true]);
    folds.set("x", false);
    expect(folds.isOpen("x", true)).toBe(false);
    folds.set("y", true);
    folds.closeAll(["x", "y"], "y");
    expect([folds.isOpen("x", true), folds.isOpen("y", false)]).toEqual([false, true]);
  });

  it("does not open everything while the run is still being loaded, and is quick", () => {
    const model = madeUpRun(100_000, 1);
    const start = performance.now();
    expect(draw(model).nodes.length).toBeLessThan(20);
    expect(performance.now() - start).toBeLessThan(5000); // on a busy machine; some 40 ms else
  });
});
