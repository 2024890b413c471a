import { Column, hashOf, Index } from "./columns";

/** How many actions of a set are compared with each other one. */
const sampleSize = 100;

/** In place of a set: the action has none. */
const noSet = -1;

/** Which actions are alike: those with the same parent, group and title. They are added in the order of their creation. */
export class Siblings {
  readonly #index = new Index(); // sets
  #size = 0; // how many sets
  readonly #parents = new Column(); // by set, as all up to the counts
  readonly #groups = new Column();
  readonly #titles = new Column();
  readonly #firsts = new Column(); // rows
  readonly #lasts = new Column(); // rows
  readonly #counts = new Column();
  readonly #of = new Column(); // by row, set + 1
  readonly #places = new Column(); // by row
  readonly #next = new Column(); // by row: the next of its set, row + 1

  clear(): void {
    this.#index.clear();
    this.#size = 0;
  }

  /** Adds a row. Parents are rows + 1. Groups and titles are numbers of texts; an action without a title, 0, is like no other. */
  add(row: number, parent: number, group: number, title: number): void {
    const set = this.#setOf(row, parent, group, title);
    const place = this.#counts.get(set);
    if (place > 0) this.#next.set(this.#lasts.get(set), row + 1);
    this.#lasts.set(set, row);
    this.#counts.set(set, place + 1);
    this.#of.set(row, set + 1);
    this.#places.set(row, place);
    this.#next.set(row, 0);
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
  *sample(row: number): Generator<number> {
    let next = this.#firsts.get(this.set(row));
    for (let left = Math.min(this.count(row), sampleSize); left > 0; left--) {
      yield next;
      next = this.#next.get(next) - 1;
    }
  }

  #setOf(row: number, parent: number, group: number, title: number): number {
    const hash = hashOf(parent, group, title);
    const known = title === 0 ? undefined : this.#index.find(hash, (set) => this.#is(set, parent, group, title));
    if (known !== undefined) return known;
    const set = this.#size++;
    if (title !== 0) this.#index.add(hash, set);
    this.#parents.set(set, parent);
    this.#groups.set(set, group);
    this.#titles.set(set, title);
    this.#firsts.set(set, row);
    this.#counts.set(set, 0);
    return set;
  }

  #is(set: number, parent: number, group: number, title: number): boolean {
    return this.#parents.get(set) === parent && this.#groups.get(set) === group && this.#titles.get(set) === title;
  }
}
