import { Column } from "./columns";

/** How many actions of a set are compared with each other one. */
const sampleSize = 100;

/** In place of a set: the action has none. */
const noSet = -1;

/** Which actions are alike: those with the same parent, group and title. They are added in the order of their creation. */
export class Siblings {
  readonly #sets = new Map<string, number>(); // by parent, group and title
  readonly #counts = new Column(); // by set
  #samples: number[][] = []; // by set
  readonly #of = new Column(); // by row, set + 1
  readonly #places = new Column(); // by row

  clear(): void {
    this.#sets.clear();
    this.#samples = [];
  }

  /** Adds a row. */
  add(row: number, parent: number, group: string, title: string): void {
    const key = `${parent}\n${group}\n${title}`;
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = this.#samples.push([]) - 1;
      this.#sets.set(key, set);
      this.#counts.set(set, 0);
    }
    const place = this.#counts.get(set);
    this.#of.set(row, set + 1);
    this.#places.set(row, place);
    this.#counts.set(set, place + 1);
    if (place < sampleSize) this.#samples[set]?.push(row);
  }

  /** The set of a row. */
  set(row: number): number {
    return this.#of.get(row) - 1;
  }
  /** How many actions are like this one, itself included. */
  count(row: number): number {
    const set = this.set(row);
    return set === noSet ? 0 : this.#counts.get(set);
  }
  /** The position among them, from 0. */
  place(row: number): number {
    return this.#places.get(row);
  }
  /** The first rows of the set. */
  sample(row: number): readonly number[] {
    return this.#samples[this.set(row)] ?? [];
  }
}
