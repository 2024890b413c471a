import { counts, Numbers } from "./numbers";
import type { LogSearch } from "./log-search";
import type { LogStore } from "./log-store";

/** The position of lines in rows of equal height. A wrapped line takes several rows. */
export class Layout {
  readonly #store: LogStore;
  readonly #search: LogSearch;
  readonly #columns: number;
  readonly #starts: Numbers<Uint32Array> | undefined;
  #rows = 0;

  /** With 0 columns lines are not wrapped. */
  constructor(store: LogStore, search: LogSearch, columns: number) {
    this.#store = store;
    this.#search = search;
    this.#columns = columns;
    if (columns > 0) this.#starts = new Numbers(counts);
  }

  /** The number of rows, including lines that arrived since the last call. */
  rows(): number {
    if (!this.#starts) return this.#search.size;
    for (let place = this.#starts.size; place < this.#search.size; place++) {
      this.#starts.push(this.#rows);
      this.#rows += Math.max(1, Math.ceil(this.#store.width(this.#search.line(place)) / this.#columns));
    }
    return this.#rows;
  }

  /** The first row of the line at a place. */
  top(place: number): number {
    return this.#starts ? this.#starts.get(place) : place;
  }

  /** The place of the line at a row. */
  placeAt(row: number): number {
    return this.#starts ? Math.max(0, this.#starts.lastUpTo(row)) : row;
  }
}

/** Browsers limit the height of elements to about this, in pixels. */
export const maxHeight = 8_000_000;

/**
 * Maps the position of the scroll bar to the position in the log. The mapping is scaled if the log is higher than an element
 * can be.
 */
export class Scale {
  readonly height: number;
  readonly #all: number;
  readonly #view: number;

  constructor(all: number, view: number) {
    this.#all = all;
    this.#view = view;
    this.height = Math.min(all, maxHeight);
  }

  get #factor(): number {
    const room = this.height - this.#view;
    return room > 0 ? (this.#all - this.#view) / room : 1;
  }

  toLog(scroll: number): number {
    return Math.max(0, Math.min(scroll * this.#factor, this.#all - this.#view));
  }

  toScroll(position: number): number {
    return Math.max(0, Math.min(position, this.#all - this.#view)) / this.#factor;
  }
}
