type Room = Float64Array | Uint32Array | Uint8Array;

/** A growing list of numbers in a typed array. */
export class Numbers<T extends Room> {
  #values: T;
  #size = 0;
  readonly #make: (room: number) => T;

  constructor(make: (room: number) => T) {
    this.#make = make;
    this.#values = make(1024);
  }

  get size(): number {
    return this.#size;
  }

  get(at: number): number {
    return this.#values[at] ?? 0;
  }

  push(value: number): void {
    if (this.#size === this.#values.length) {
      const larger = this.#make(this.#size * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#size++] = value;
  }

  /** In a sorted list: the index of the last value that is at most the given one; -1 if there is none. */
  lastUpTo(value: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.get(middle) <= value) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

export const wide = (room: number) => new Float64Array(room);
export const counts = (room: number) => new Uint32Array(room);
export const small = (room: number) => new Uint8Array(room);
