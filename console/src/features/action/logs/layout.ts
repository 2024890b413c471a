import { counts, Numbers } from "./numbers";
import type { LogSearch } from "./log-search";
import type { LogStore } from "./log-store";

/** Where lines lie, in rows of equal height: a line takes one, or as many as it needs when long lines are wrapped. */
export class Layout {
  readonly #store: LogStore;
  readonly #search: LogSearch;
  readonly #columns: number;
  readonly #starts: Numbers<Uint32Array> | undefined;
  #rows = 0;

  /** Columns of 0 leave long lines as they are. */
  constructor(store: LogStore, search: LogSearch, columns: number) {
    this.#store = store;
    this.#search = search;
    this.#columns = columns;
    if (columns > 0) this.#starts = new Numbers(counts);
  }

  /** How many rows there are, with the lines that have come since the last time. */
  rows(): number {
    if (!this.#starts) return this.#search.size;
    for (let place = this.#starts.size; place < this.#search.size; place++) {
      this.#starts.push(this.#rows);
      this.#rows += Math.max(1, Math.ceil(this.#store.width(this.#search.line(place)) / this.#columns));
    }
    return this.#rows;
  }

  /** The row in which the line at a place begins. */
  top(place: number): number {
    return this.#starts ? this.#starts.get(place) : place;
  }

  /** The place of the line that has a row. */
  placeAt(row: number): number {
    return this.#starts ? Math.max(0, this.#starts.lastUpTo(row)) : row;
  }
}

/** Browsers do not make elements much higher than this, in pixels. */
export const highest = 8_000_000;

/**
 * How the position of a scroll bar and that in the log belong together: as they are, or stretched where the log is higher
 * than a browser can make an element.
 */
export class Scale {
  readonly height: number;
  readonly #all: number;
  readonly #view: number;

  constructor(all: number, view: number) {
    this.#all = all;
    this.#view = view;
    this.height = Math.min(all, highest);
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
