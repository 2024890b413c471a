import type { RunModel } from "@/entities/run/model/run-model";
import { Inquiry, type Question } from "@/api/inquiry";
import type { Change } from "./segments";

/** What the server says of some actions, by their numbers. */
export type AskTransitions = (numbers: number[], signal: AbortSignal) => Promise<readonly (Change & { readonly number: number })[]>;

/** The limit of the server for one request. */
const maxNumbers = 500;
/** The size of the cache, which evicts the least recently used. */
const cacheSize = 20_000;
/** How long rows must be visible before they are requested, in milliseconds. */
const debounce = 60;
/** The minimum time between two requests for an action that keeps changing, in milliseconds. */
const renewal = 1000;

interface Known {
  /** What the row looked like when it was asked for. */
  readonly mark: string;
  readonly changes: readonly Change[];
  readonly at: number;
}

/** The changes of phase of the actions that were visible. Outdated ones are shown until the new answer arrives. */
export class Transitions {
  readonly #known = new Map<number, Known>(); // by number
  readonly #inquiry = new Inquiry(() => this.#next(), debounce);
  #wanted: number[] = []; // rows

  constructor(
    readonly model: RunModel,
    readonly ask: AskTransitions,
    readonly changed: () => void,
  ) {}

  /** What is known of a row. */
  get(row: number): readonly Change[] | undefined {
    const number = this.model.number(row);
    const known = this.#known.get(number);
    if (!known) return undefined;
    this.#known.delete(number); // to the end of the map: it was just looked at
    this.#known.set(number, known);
    return known.changes;
  }

  /** Sets the visible rows. */
  want(rows: number[]): void {
    this.#wanted = rows;
    this.#inquiry.want();
  }

  /** Cancels all requests, until rows become visible again. */
  stop(): void {
    this.#inquiry.stop();
  }

  #next(): Question | number | undefined {
    const now = performance.now();
    const changed = this.#wanted.filter((row) => this.#known.get(this.model.number(row))?.mark !== this.#mark(row));
    const due = changed.filter((row) => now - (this.#known.get(this.model.number(row))?.at ?? -renewal) >= renewal);
    if (due.length === 0) return changed.length > 0 ? renewal : undefined;
    const marks = new Map(due.slice(0, maxNumbers).map((row) => [this.model.number(row), this.#mark(row)]));
    return {
      ask: async (signal) => this.#store(marks, await this.ask([...marks.keys()], signal)),
      refused: () => false, // fall back to the coarse segments
    };
  }

  #store(marks: ReadonlyMap<number, string>, answer: readonly (Change & { readonly number: number })[]): void {
    const byNumber = new Map<number, Change[]>();
    for (const { number, attempt, phase, at } of answer) {
      const changes = byNumber.get(number);
      if (changes) changes.push({ attempt, phase, at });
      else byNumber.set(number, [{ attempt, phase, at }]);
    }
    const at = performance.now();
    for (const [number, mark] of marks) {
      this.#known.delete(number);
      this.#known.set(number, { mark, changes: byNumber.get(number) ?? [], at });
    }
    for (const number of this.#known.keys()) {
      if (this.#known.size <= cacheSize) break;
      this.#known.delete(number);
    }
    this.changed();
  }

  #mark(row: number): string {
    const { model } = this;
    return `${model.phase(row)}.${model.attempt(row)}.${model.started(row)}.${model.ended(row)}`;
  }
}
