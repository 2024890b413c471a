import { describe, expect, it } from "vitest";
import { none } from "@/entities/run/model/run-model";
import { atOnce, inChunks } from "@/features/run/pacing/chunks";
import { criticalPath } from "./critical-path";
import { densityOf } from "./density";
import { modelOf, madeUpRun } from "@/entities/run/model/run-model.fixture";
import { orderOf, placeOf, placesInSight, rowAt } from "./order";
import { fullRange, moved, Scale, withMargin, within, zoomed } from "./scale";

const everything = () => true;
function* endless(): Generator<undefined, number> {
  while (performance.now() > 0) yield undefined;
  return 1;
}
const tree = () =>
  modelOf([
    { name: "a0" },
    { name: "b", parent: "a0" },
    { name: "c", parent: "a0" },
    { name: "b1", parent: "b" },
    { name: "c1", parent: "c" },
    { name: "b2", parent: "b" },
    { name: "b1x", parent: "b1" },
  ]);

describe("the order of rows", () => {
  it("has each action followed by its children", () => {
    const model = tree();
    const order = atOnce(orderOf(model, everything, new Set()));
    expect([...order.rows].map((row) => model.name(row))).toEqual(["a0", "b", "b1", "b1x", "b2", "c", "c1"]);
    expect([...order.depths]).toEqual([0, 1, 2, 3, 2, 1, 2]);
    expect(placeOf(order, model.row("b2"))).toBe(4);
    expect([rowAt(order, 99), rowAt(order, -1), placeOf(order, none)]).toEqual([none, none, none]);
  });

  it("leaves out what is not visible and what is folded", () => {
    const model = tree();
    const order = atOnce(orderOf(model, (row) => model.name(row) !== "b1", new Set([model.row("c")])));
    expect([...order.rows].map((row) => model.name(row))).toEqual(["a0", "b", "b1x", "b2", "c"]);
    expect(placeOf(order, model.row("b1"))).toBe(none);
  });

  it("is found in pieces, and given up when nobody wants it any more", async () => {
    const model = madeUpRun(30_000);
    expect((await inChunks(orderOf(model, everything, new Set()), new AbortController().signal))?.length).toBe(30_000);
    const control = new AbortController();
    control.abort();
    expect(await inChunks(endless(), control.signal)).toBeUndefined();
  });

  it("says which rows are visible", () => {
    expect(placesInSight(0, 100, 20, 1000)).toEqual([0, 5]);
    expect(placesInSight(50, 100, 20, 1000)).toEqual([2, 8]);
    expect(placesInSight(19_990, 100, 20, 1000)).toEqual([999, 1000]);
    expect(placesInSight(0, 100, 20, 0)).toEqual([0, 0]);
  });
});

describe("the visible range", () => {
  const limits = { from: 0, to: 1000 };
  it("stays within its limits", () => {
    expect(within({ from: -50, to: 50 }, limits)).toEqual({ from: 0, to: 100 });
    expect(within({ from: -50, to: 5000 }, limits)).toEqual(limits);
    expect(moved({ from: 800, to: 900 }, 500, limits)).toEqual({ from: 900, to: 1000 });
    expect(withMargin({ from: 400, to: 500 }, limits)).toEqual({ from: 385, to: 515 });
    expect(fullRange(0).to).toBeGreaterThan(0);
  });
  it("keeps what is under the pointer there when it is zoomed", () => {
    const before = new Scale(limits, 100, 500);
    const after = new Scale(zoomed(limits, 4, before.ms(300), limits), 100, 500);
    expect(after.ms(300)).toBeCloseTo(before.ms(300));
    expect(after.range.to - after.range.from).toBe(250);
  });
});

it("counts active actions over time", () => {
  const model = modelOf([
    { name: "a0", started: 0, ended: 99 },
    { name: "b", parent: "a0", created: 20, started: 40, ended: 59 },
  ]);
  const density = atOnce(densityOf(model, { from: 0, to: 100 }, 10, 100));
  expect([...density.running]).toEqual([1, 1, 1, 1, 2, 2, 1, 1, 1, 1]);
  expect([...density.waiting]).toEqual([0, 0, 1, 1, 1, 0, 0, 0, 0, 0]);
  expect(density.peak).toBe(3);
});

it("is quick with 100,000 actions", () => {
  const [model, flat] = [madeUpRun(100_000), madeUpRun(100_000, 1)];
  const took = (work: () => unknown) => {
    const start = performance.now();
    work();
    return performance.now() - start;
  };
  const times = {
    order: took(() => atOnce(orderOf(model, everything, new Set()))),
    density: took(() => atOnce(densityOf(model, { from: 0, to: 1_100_000 }, 1200, 1_100_000))),
    path: took(() => criticalPath(model)),
    pathOfSiblings: took(() => criticalPath(flat)),
  };
  expect(Math.max(...Object.values(times)), JSON.stringify(times)).toBeLessThan(5000); // on a busy machine; some 25 ms else
});
