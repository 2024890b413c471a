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

  clear(): void {
    this.#values.fill(0);
  }
}

/** Finds rows by hashes of what they have. It is an open hash table in columns: a Map takes several times its memory. */
export class Index {
  #hashes = new Uint32Array(64);
  #rows = new Uint32Array(64); // + 1; 0 for a free place
  #size = 0;

  clear(): void {
    this.#rows.fill(0);
    this.#size = 0;
  }

  /** The row with this hash for which the function says that it is the one; undefined if there is none. */
  find(hash: number, same: (row: number) => boolean): number | undefined {
    for (let place = this.#first(hash); ; place = this.#after(place)) {
      const row = (this.#rows[place] ?? 0) - 1;
      if (row < 0) return undefined;
      if (this.#hashes[place] === hash && same(row)) return row;
    }
  }

  /** Adds a row that is not in the index. */
  add(hash: number, row: number): void {
    if (2 * ++this.#size > this.#rows.length) this.#grow();
    this.#put(hash, row);
  }

  #put(hash: number, row: number): void {
    let place = this.#first(hash);
    while (this.#rows[place] !== 0) place = this.#after(place);
    this.#hashes[place] = hash;
    this.#rows[place] = row + 1;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const rows = this.#rows;
    this.#hashes = new Uint32Array(hashes.length * 2);
    this.#rows = new Uint32Array(rows.length * 2);
    rows.forEach((row, place) => {
      if (row !== 0) this.#put(hashes[place] ?? 0, row - 1);
    });
  }

  #first(hash: number): number {
    return hash & (this.#rows.length - 1);
  }

  #after(place: number): number {
    return (place + 1) & (this.#rows.length - 1);
  }
}

/** A hash of unsigned numbers, itself unsigned. Numbers that follow each other get places far apart. */
export function hashOf(...numbers: readonly number[]): number {
  let hash = 0;
  for (const number of numbers) {
    hash = Math.imul(hash ^ number, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}

/** A hash of a text, unsigned. */
export function hashOfText(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hashOf(hash);
}
