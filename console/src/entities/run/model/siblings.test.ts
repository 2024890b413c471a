import { expect, it } from "vitest";
import { Siblings } from "./siblings";

interface Added {
  readonly parent: number;
  readonly group: number;
  readonly title: number;
}

/** Siblings as a reader would count them. */
const alike = (all: readonly Added[], row: number): number[] => {
  const of = all[row];
  if (of?.title === 0) return [row];
  return all.flatMap((one, at) => (one.parent === of?.parent && one.group === of.group && one.title === of.title ? [at] : []));
};

it("knows which actions have the same parent, group and title", () => {
  const siblings = new Siblings();
  for (const seed of [1, 2]) {
    const all = Array.from({ length: 3000 }, (_, row): Added => ({ parent: (row * seed * 31) % 13, group: row % 3, title: (row * 17 * seed) % 5 }));
    all.forEach(({ parent, group, title }, row) => siblings.add(row, parent, group, title));
    for (let row = 0; row < all.length; row += 41) {
      const same = alike(all, row);
      expect(siblings.count(row)).toBe(same.length);
      expect(siblings.place(row)).toBe(same.indexOf(row));
      expect([...siblings.sample(row)]).toEqual(same.slice(0, 100));
      expect(same.every((other) => siblings.set(other) === siblings.set(row))).toBe(true);
    }
    siblings.clear();
  }
});

it("has none for rows that it does not know", () => {
  const siblings = new Siblings();
  expect(siblings.count(3)).toBe(0);
  expect([...siblings.sample(3)]).toEqual([]);
});
