/** A stretch of time, in milliseconds after the run was created. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** Nobody looks closer than this, in milliseconds. */
const shortest = 10;

export const lengthOf = (stretch: Stretch): number => stretch.to - stretch.from;

/** All there is to see, with a little air around it. */
export function whole(end: number): Stretch {
  const length = Math.max(end, shortest);
  return { from: -length * 0.015, to: length * 1.04 };
}

/** Moves and shortens a stretch until it is within what there is to see. */
export function within(stretch: Stretch, limits: Stretch): Stretch {
  const length = Math.min(Math.max(lengthOf(stretch), shortest), Math.max(lengthOf(limits), shortest));
  const from = Math.min(Math.max(stretch.from, limits.from), limits.to - length);
  return { from, to: from + length };
}

/** Makes a stretch shorter by a factor, so that a moment stays where it is in sight. */
export function zoomed(stretch: Stretch, factor: number, at: number, limits: Stretch): Stretch {
  const length = Math.min(Math.max(lengthOf(stretch) / factor, shortest), Math.max(lengthOf(limits), shortest));
  const share = (at - stretch.from) / lengthOf(stretch);
  const from = at - share * length;
  return within({ from, to: from + length }, limits);
}

export const moved = (stretch: Stretch, by: number, limits: Stretch): Stretch => within({ from: stretch.from + by, to: stretch.to + by }, limits);

/** A stretch in which another one is seen well. */
export function around(stretch: Stretch, limits: Stretch): Stretch {
  const air = Math.max(lengthOf(stretch) * 0.15, shortest);
  return within({ from: stretch.from - air, to: stretch.to + air }, limits);
}

/** Where moments are on the screen. */
export class Scale {
  readonly #perMs: number;

  constructor(
    readonly stretch: Stretch,
    readonly left: number,
    readonly width: number,
  ) {
    this.#perMs = width / Math.max(lengthOf(stretch), 1e-9);
  }

  x(ms: number): number {
    return this.left + (ms - this.stretch.from) * this.#perMs;
  }

  ms(x: number): number {
    return this.stretch.from + (x - this.left) / this.#perMs;
  }
}
