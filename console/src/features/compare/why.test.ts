import { describe, expect, it } from "vitest";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { reasonsOf } from "./why";

/** A root that loads, then trains; in milliseconds. */
const run = (load: number, wait: number, train: number) =>
  modelOf([
    { name: "a0", title: "main", started: 0, ended: load + wait + train },
    { name: "l", title: "load", parent: "a0", created: 0, started: 0, ended: load },
    { name: "t", title: "train", parent: "a0", created: load, started: load + wait, ended: load + wait + train },
  ]);

describe("why a run took longer", () => {
  it("is the difference of the critical paths by task, the largest first", () => {
    const reasons = reasonsOf(run(1000, 0, 5000), run(1000, 2000, 9000));
    expect([reasons.a, reasons.b]).toEqual([6000, 12_000]);
    expect(reasons.causes.map(({ title, kind, by }) => [title, kind, by])).toEqual([
      ["train", "worked", 4000],
      ["train", "waited", 2000],
    ]);
    expect(reasons.causes.reduce((sum, { by }) => sum + by, 0)).toBe(reasons.b - reasons.a);
  });

  it("has what became faster, too, and nothing for equal runs", () => {
    expect(reasonsOf(run(3000, 0, 5000), run(1000, 0, 9000)).causes.map(({ title, by }) => [title, by])).toEqual([
      ["train", 4000],
      ["load", -2000],
    ]);
    expect(reasonsOf(run(1000, 0, 5000), run(1000, 0, 5000)).causes).toEqual([]);
  });
});
