/** A range of time, in milliseconds after the run was created. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** Minimum zoom span, in milliseconds. */
const minSpan = 10;

export const lengthOf = (range: TimeRange): number => range.to - range.from;

/** The full range of a run that ends at a moment, plus a margin. */
export function fullRange(end: number): TimeRange {
  const length = Math.max(end, minSpan);
  return { from: -length * 0.015, to: length * 1.04 };
}

/** Moves and shortens a range so that it fits into the limits. */
export function within(range: TimeRange, limits: TimeRange): TimeRange {
  const length = Math.min(Math.max(lengthOf(range), minSpan), Math.max(lengthOf(limits), minSpan));
  const from = Math.min(Math.max(range.from, limits.from), limits.to - length);
  return { from, to: from + length };
}

/** Zooms in by a factor; a moment keeps its place on the screen. */
export function zoomed(range: TimeRange, factor: number, at: number, limits: TimeRange): TimeRange {
  const length = Math.min(Math.max(lengthOf(range) / factor, minSpan), Math.max(lengthOf(limits), minSpan));
  const share = (at - range.from) / lengthOf(range);
  const from = at - share * length;
  return within({ from, to: from + length }, limits);
}

export const moved = (range: TimeRange, by: number, limits: TimeRange): TimeRange => within({ from: range.from + by, to: range.to + by }, limits);

/** A range with a margin on both sides. */
export function withMargin(range: TimeRange, limits: TimeRange): TimeRange {
  const margin = Math.max(lengthOf(range) * 0.15, minSpan);
  return within({ from: range.from - margin, to: range.to + margin }, limits);
}

/** Converts between moments and positions on the screen. */
export class Scale {
  readonly #perMs: number;

  constructor(
    readonly range: TimeRange,
    readonly left: number,
    readonly width: number,
  ) {
    this.#perMs = width / Math.max(lengthOf(range), 1e-9);
  }

  x(ms: number): number {
    return this.left + (ms - this.range.from) * this.#perMs;
  }

  ms(x: number): number {
    return this.range.from + (x - this.left) / this.#perMs;
  }
}
