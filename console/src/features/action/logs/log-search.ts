import { Level } from "./level";
import type { LogStore } from "./log-store";
import { counts, Numbers } from "./numbers";

/** The filter of a log. */
export interface Wanted {
  /** Lines must match it; undefined for any. */
  readonly pattern: RegExp | undefined;
  /** The minimum severity. */
  readonly level: Level;
  /** Only lines that match are shown. */
  readonly only: boolean;
}

/** Compiles the typed pattern. */
export function patternOf(query: string, regex: boolean, matchCase: boolean): { readonly pattern?: RegExp; readonly error?: string } {
  if (query === "") return {};
  try {
    return { pattern: new RegExp(regex ? query : query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), matchCase ? "" : "i") };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** How long one step may block the page, in milliseconds. */
const slice = 8;

/** Scans a log in small steps, including lines that arrive later, without blocking the page. */
export class LogSearch {
  readonly wanted: Wanted;
  /** The lines that match the pattern, in order. */
  readonly matches = new Numbers(counts);
  /** The lines to show, in order; undefined if all are shown. */
  readonly shown: Numbers<Uint32Array> | undefined;
  readonly #store: LogStore;
  readonly #listeners = new Set<() => void>();
  #scanned = 0;
  #version = 0;

  constructor(store: LogStore, wanted: Wanted) {
    this.#store = store;
    this.wanted = wanted;
    if (wanted.level !== Level.None || (wanted.only && wanted.pattern)) this.shown = new Numbers(counts);
  }

  /** The number of scanned lines. */
  get scanned(): number {
    return this.#scanned;
  }
  get version(): number {
    return this.#version;
  }
  /** The number of shown lines. */
  get size(): number {
    return this.shown ? this.shown.size : this.#store.size;
  }
  /** The line at a place among the shown lines. */
  line(at: number): number {
    return this.shown ? this.shown.get(at) : at;
  }
  /** The place of a line, or of the last shown line before it. */
  placeOf(line: number): number {
    return this.shown ? Math.max(0, this.shown.lastUpTo(line)) : Math.min(line, this.#store.size - 1);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Scans new lines until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (!this.wanted.pattern && !this.shown) return;
    while (!signal.aborted) {
      if (this.#scanned < this.#store.size) {
        this.step();
        await new Promise((resolve) => setTimeout(resolve, 0));
      } else {
        await this.#more(signal);
      }
    }
  }

  /** Scans lines for a few milliseconds. */
  step(): void {
    const { pattern, level } = this.wanted;
    const end = performance.now() + slice;
    while (this.#scanned < this.#store.size) {
      const line = this.#scanned++;
      const severe = this.#store.level(line) >= level;
      const hit = severe && pattern?.test(this.#store.text(line)) === true;
      if (hit) this.matches.push(line);
      if (severe && (hit || !pattern || !this.wanted.only)) this.shown?.push(line);
      if (line % 64 === 0 && performance.now() > end) break;
    }
    this.#version++;
    for (const listener of this.#listeners) listener();
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        stop();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const stop = this.#store.subscribe(() => {
        if (this.#scanned < this.#store.size) end();
      });
      signal.addEventListener("abort", end, { once: true });
    });
  }
}
