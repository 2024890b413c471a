import { describe, expect, it } from "vitest";
import { axesOf, pointsOf, ticksOf, type Measured } from "./points";

const run = (name: string, values: Readonly<Record<string, string>>): Measured => ({ key: name, name, values: new Map(Object.entries(values)) });

const runs = [run("a", { depth: "2", rate: "0.1", region: "emea" }), run("b", { depth: "4", rate: "", region: "apac" }), run("c", { depth: "6", rate: "0.3", seed: "1" })];

describe("a scatter plot", () => {
  it("offers what at least two runs have as a number", () => {
    expect(axesOf(runs)).toEqual(["depth", "rate"]);
    expect(axesOf(runs.slice(0, 1))).toEqual([]);
  });

  it("has the runs that have both numbers", () => {
    expect(pointsOf(runs, "depth", "rate")).toEqual([
      { key: "a", name: "a", x: 2, y: 0.1 },
      { key: "c", name: "c", x: 6, y: 0.3 },
    ]);
  });

  it.each([
    [[2, 9], [2, 4, 6, 8, 10]],
    [[0.11, 0.34], [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]],
    [[-3, 4], [-4, -2, 0, 2, 4]],
    [[1000, 51000], [0, 10000, 20000, 30000, 40000, 50000, 60000]],
  ])("has round ticks around %j", (values, ticks) => expect(ticksOf(values)).toEqual(ticks));

  it("has an axis for equal values", () => {
    for (const value of [5, 0, -0.2]) {
      const ticks = ticksOf([value, value]);
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks[0]).toBeLessThanOrEqual(value);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(value);
    }
  });
});
