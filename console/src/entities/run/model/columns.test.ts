import { expect, it } from "vitest";
import { Column, hashOf, hashOfText, Index } from "./columns";

it("has 0 for each row, also after it was cleared", () => {
  const column = new Column();
  expect(column.get(5000)).toBe(0);
  column.set(5000, 7);
  expect([column.get(4999), column.get(5000)]).toEqual([0, 7]);
  column.clear();
  expect(column.get(5000)).toBe(0);
});

// Hashes that are equal, follow each other, fill the end of the table, or are spread.
it.each([
  ["one hash for all", () => 7],
  ["hashes one after the other", (key: number) => key],
  ["hashes at the end of every table", (key: number) => 0xffffffff - key],
  ["hashes of numbers", (key: number) => hashOf(key, 3)],
  ["hashes of texts", (key: number) => hashOfText(`a0-${key}`)],
])("finds what a map finds, with %s", (_, hash) => {
  const index = new Index();
  const map = new Map<number, number>();
  const keys: number[] = [];
  for (const round of [0, 1]) {
    for (let row = 0; row < 500; row++) {
      const key = (row * 7919 + round) % 1009;
      keys[row] = key;
      index.add(hash(key), row);
      map.set(key, row);
      for (const asked of [key, key + 1]) expect(index.find(hash(asked), (found) => keys[found] === asked)).toBe(map.get(asked));
    }
    index.clear();
    map.clear();
    expect(index.find(hash(keys[0] ?? 0), () => true)).toBeUndefined();
  }
});

it("gives numbers that follow each other different places", () => {
  const places = new Set(Array.from({ length: 1000 }, (_, n) => hashOf(n, 1, 2) & 0xffff));
  expect(places.size).toBeGreaterThan(950);
});
