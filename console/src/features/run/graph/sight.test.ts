import { expect, it } from "vitest";
import { fitted, opening, revealed, toGraph, toScreen, within, zoomed } from "./sight";

const screen = { width: 800, height: 600 };

it("keeps what is under the pointer there when it is zoomed, and zooms only so far", () => {
  const before = { x: 10, y: 20, k: 1 };
  const at = { x: 300, y: 200 };
  const after = zoomed(before, 1.5, at);
  expect(after.k).toBe(1.5);
  expect(toScreen(after, toGraph(before, at))).toEqual(at);
  expect([zoomed(before, 1000, at).k, zoomed(before, 0.0001, at).k]).toEqual([2, 0.04]);
});

it("never loses sight of the graph", () => {
  const lost = within({ x: 5000, y: -9000, k: 1 }, { width: 100, height: 100 }, screen);
  expect([lost.x, lost.y]).toEqual([740, -40]);
});

it("shows all that can be read, and else the beginning", () => {
  expect(fitted({ width: 400, height: 100 }, screen)).toEqual({ k: 1, x: 200, y: 250 });
  expect(opening({ width: 1000, height: 100 }, screen, { x: 0, y: 0, width: 10, height: 10 }).k).toBeCloseTo(0.768);
  const long = opening({ width: 1000, height: 20_000 }, screen, { x: 8, y: 10_000, width: 200, height: 40 });
  expect(toScreen(long, { x: 8, y: 10_020 })).toEqual({ x: 16, y: 300 });
});

it("moves no more than it must to show a box", () => {
  const sight = { x: 0, y: 0, k: 1 };
  expect(revealed(sight, { x: 100, y: 100, width: 200, height: 40 }, screen)).toEqual(sight);
  expect(revealed(sight, { x: 700, y: -50, width: 200, height: 40 }, screen)).toEqual({ x: -116, y: 66, k: 1 });
});
