import { none, type RunModel } from "@/entities/run/model/run-model";

/** The rows that are shown, from top to bottom: each action followed by its children. It never changes once made. */
export interface Order {
  readonly length: number;
  /** The row at each place. */
  readonly rows: Int32Array;
  /** How deep it is in the tree. */
  readonly depths: Uint16Array;
  /** The place of each row; none for those that are not shown. */
  readonly places: Int32Array;
}

export const emptyOrder: Order = { length: 0, rows: new Int32Array(0), depths: new Uint16Array(0), places: new Int32Array(0) };

export const rowAt = (order: Order, place: number): number => (place >= 0 && place < order.length ? (order.rows[place] ?? none) : none);
export const placeOf = (order: Order, row: number): number => (row >= 0 ? (order.places[row] ?? none) : none);

const rowsInOneGo = 4096;

/**
 * Finds the order, in steps. Rows that are not visible are left out, but not what is below them; rows that are collapsed
 * hide what is below. The model may grow meanwhile: what comes too late has to wait for the next time.
 */
export function* orderOf(model: RunModel, visible: (row: number) => boolean, collapsed: ReadonlySet<number>): Generator<void, Order> {
  const size = model.size;
  const rows = new Int32Array(size);
  const depths = new Uint16Array(size);
  const places = new Int32Array(size).fill(none);
  let length = 0;
  let since = 0;
  for (let root = 0; root < size; root++) {
    if (++since % rowsInOneGo === 0) yield;
    if (model.parent(root) !== none) continue;
    let row = root;
    let depth = 0;
    while (row !== none) {
      if (++since % rowsInOneGo === 0) yield;
      if (length < size && row < size && visible(row)) {
        rows[length] = row;
        depths[length] = depth;
        places[row] = length++;
      }
      let next = collapsed.has(row) ? none : model.firstChild(row);
      if (next !== none) depth++;
      for (let up = row; next === none && up !== root && up !== none; ) {
        next = model.nextSibling(up);
        if (next !== none) break;
        up = model.parent(up);
        depth--;
      }
      row = next;
    }
  }
  return { length, rows: rows.subarray(0, length), depths: depths.subarray(0, length), places };
}

/** The visible places: the first, and the one after the last. */
export function placesInSight(scrolled: number, height: number, rowHeight: number, length: number): readonly [first: number, last: number] {
  const first = Math.min(length, Math.max(0, Math.floor(scrolled / rowHeight)));
  const last = Math.min(length, Math.max(first, Math.ceil((scrolled + height) / rowHeight)));
  return [first, last];
}
