import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bounded, type FileSource } from "./source";

/** A source over bytes, and what was read of it. */
export interface Fixture {
  readonly source: FileSource;
  readonly reads: (readonly [from: number, length: number])[];
}

/** A file that fixtures/make.py made. */
export function fixture(name: string): Fixture {
  const path = join(import.meta.dirname, "fixtures", name);
  const data = name.endsWith(".gz") ? gunzipSync(readFileSync(path)) : readFileSync(path);
  return over(name.replace(/\.gz$/, ""), data);
}

/** A source over these bytes. */
export function over(name: string, data: Uint8Array, size = data.length): Fixture {
  const reads: (readonly [number, number])[] = [];
  const read = (from: number, length: number) => {
    reads.push([from, length]);
    const part = new Uint8Array(length).fill(0x20); // what is said to be there is spaces
    part.set(data.subarray(from, from + length));
    return Promise.resolve(part);
  };
  return { source: bounded(name, size, read), reads };
}
