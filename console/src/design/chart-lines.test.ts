import { expect, it } from "vitest";
import { pieces, roundUp } from "./chart-lines";

it.each([
  [0, 1],
  [1, 1],
  [3, 5],
  [7, 10],
  [1500, 2000],
  [0.03, 0.05],
])("rounds %d up to %d", (value, round) => expect(roundUp(value)).toBeCloseTo(round));

it("interrupts a line where nothing is known", () => {
  expect(pieces([1, 2, undefined, undefined, 4], 4)).toEqual([
    [
      [0, 0.25],
      [1, 0.5],
    ],
    [[4, 1]],
  ]);
  expect(pieces([undefined], 1)).toEqual([]);
});
