import { describe, expect, it } from "vitest";
import { fresh, isTold, most, pause, type Alert } from "./alert";

const run = { project: "p", domain: "d", name: "r" };
const alert = (key: string): Alert => ({ key, title: key, body: "", run });

describe("what is new", () => {
  it("is what was not told before", () => {
    const first = fresh([alert("a")], { at: 1000, keys: [] }, 2000);
    expect(first.alerts.map(({ key }) => key)).toEqual(["a"]);
    const second = fresh([alert("a"), alert("b")], first.told, 3000);
    expect(second.alerts.map(({ key }) => key)).toEqual(["b"]);
    expect(fresh([alert("a"), alert("b")], second.told, 4000).alerts).toEqual([]);
  });

  it("is nothing at the first look, and after a pause", () => {
    expect(fresh([alert("a")], undefined, 1000)).toEqual({ alerts: [], told: { at: 1000, keys: ["a"] } });
    expect(fresh([alert("a")], { at: 0, keys: [] }, pause + 1).alerts).toEqual([]);
    expect(fresh([alert("a")], { at: 2000, keys: [] }, 1000).alerts, "the clock was set back").toEqual([]);
  });

  it("does not come back when a thing is gone for a while", () => {
    const told = fresh([], fresh([alert("a")], { at: 1000, keys: [] }, 2000).told, 3000).told;
    expect(fresh([alert("a")], told, 4000).alerts).toEqual([]);
  });

  it("is remembered within bounds, what there is now first", () => {
    const { told } = fresh([alert("new")], { at: 1, keys: Array.from({ length: most.keys }, (_, n) => `old${n}`) }, 2);
    expect(told.keys).toHaveLength(most.keys);
    expect(told.keys[0]).toBe("new");
  });
});

it("reads only what it wrote", () => {
  expect(isTold({ at: 1, keys: ["a"] })).toBe(true);
  for (const wrong of [undefined, null, 1, {}, { at: "1", keys: [] }, { at: 1, keys: [1] }, { at: 1 }]) expect(isTold(wrong)).toBe(false);
});
