import { Inquiry, type Question } from "@/api/inquiry";
import { InputKind, type ActionDescription, type InputText } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import type { Siblings } from "./siblings";

/** What the server says that some actions were given, by their numbers. */
export type AskInputs = (numbers: number[], signal: AbortSignal) => Promise<readonly ActionDescription[]>;

/** The actions that inputs are of; a RunModel. */
export interface Actions {
  readonly siblings: Siblings;
  readonly size: number;
  /** Grows when rows mean other actions. */
  readonly generation: number;
  /** The row's number in requests to the server. */
  readonly number: (row: number) => number;
}

/** The limit of the server for one request. */
const maxNumbers = 500;
/** How many actions are searched. */
export const maxSearched = 20_000;
/** The size of the cache, which evicts what was read first. */
const cacheSize = 2 * maxSearched;
/** How long rows must be visible before they are requested, in milliseconds. */
const debounce = 60;

/** An input of one name, over the siblings whose inputs are known. */
interface Trait {
  readonly first: string;
  readonly kind: InputKind;
  differs: boolean;
}

/** The inputs of the actions of a run that were shown or searched. */
export class Inputs {
  /** Asks the server; undefined if the caller may not read inputs. */
  ask: AskInputs | undefined;
  readonly #known = new Map<number, readonly InputText[]>(); // by row
  readonly #traits = new Map<number, Map<string, Trait>>(); // by set of siblings
  readonly #wanted = new Map<string, readonly number[]>(); // rows, by who wants them
  readonly #searching = new Set<string>();
  readonly #inquiry = new Inquiry(() => this.#next(), debounce);
  #failed = false;

  constructor(
    readonly model: Actions,
    readonly changed: () => void,
  ) {}

  /** Those of a row; undefined if they are not known. */
  get(row: number): readonly InputText[] | undefined {
    return this.#known.get(row);
  }

  /** Those in which a row differs from its siblings, values before what is stored, as far as they are known. */
  differing(row: number): readonly InputText[] {
    const traits = this.#traits.get(this.model.siblings.set(row));
    const differing = (this.#known.get(row) ?? []).filter(({ name }) => traits?.get(name)?.differs === true);
    const values = differing.filter(({ kind }) => kind !== InputKind.STORED);
    return values.length > 0 ? values : differing;
  }

  /** Sets the rows that a component shows. Who is a name of its own. */
  want(who: string, rows: readonly number[]): void {
    this.#wanted.set(who, rows);
    if (rows.length > 0) this.#inquiry.want();
  }

  /** Says whether a component searches the inputs of all actions. */
  search(who: string, on: boolean): void {
    if (on) this.#searching.add(who);
    else this.#searching.delete(who);
    if (on) this.#inquiry.want();
  }

  /** How many actions a search still has to read. */
  get unread(): number {
    if (!this.ask || this.#failed) return 0;
    let unread = 0;
    for (let row = 0; row < this.#searched; row++) if (!this.#known.has(row)) unread++;
    return unread;
  }

  /** Whether the inputs of some actions cannot be searched, because there are too many or the server refuses. */
  get partial(): boolean {
    return !this.ask || this.#failed || this.model.size > maxSearched;
  }

  /** Reports that there may be more rows to read. */
  grown(): void {
    if (this.#searching.size > 0) this.#inquiry.want();
  }

  /** Forgets everything, since rows mean other actions now. */
  clear(): void {
    this.#known.clear();
    this.#traits.clear();
    this.#wanted.clear();
  }

  /** Asks again for what is wanted, after a stop. */
  resume(): void {
    this.#inquiry.want();
  }

  /** Cancels all requests, until something is wanted again. */
  stop(): void {
    this.#inquiry.stop();
  }

  get #searched(): number {
    return Math.min(this.model.size, maxSearched);
  }

  #next(): Question | undefined {
    const { ask, model } = this;
    const rows = this.#due();
    if (!ask || rows.length === 0) return undefined;
    const generation = model.generation;
    return {
      ask: async (signal) => {
        const answer = await ask(
          rows.map((row) => model.number(row)),
          signal,
        );
        if (generation === model.generation) this.#take(rows, answer);
      },
      refused: () => {
        this.#failed = true; // names of actions have their positions alone
        this.changed();
        return false;
      },
    };
  }

  /** The rows to ask for: visible ones with enough siblings to compare them with, then those that are searched. */
  #due(): number[] {
    const due = new Set<number>();
    const add = (row: number) => {
      if (due.size < maxNumbers && row >= 0 && row < this.model.size && !this.#known.has(row)) due.add(row);
    };
    const { siblings } = this.model;
    for (const rows of this.#wanted.values()) {
      for (const row of rows) if (siblings.count(row) > 1) add(row);
    }
    const sets = new Set<number>();
    for (const rows of this.#wanted.values()) {
      for (const row of rows) {
        if (siblings.count(row) < 2 || sets.has(siblings.set(row))) continue;
        sets.add(siblings.set(row));
        for (const alike of siblings.sample(row)) add(alike);
      }
    }
    if (this.#searching.size > 0) for (let row = 0; row < this.#searched && due.size < maxNumbers; row++) add(row);
    return [...due];
  }

  #take(rows: readonly number[], answer: readonly ActionDescription[]): void {
    const byNumber = new Map(answer.map((action) => [action.number, action.inputs]));
    for (const row of rows) {
      const inputs = byNumber.get(this.model.number(row)) ?? [];
      this.#known.set(row, inputs);
      this.#compare(this.model.siblings.set(row), inputs);
    }
    for (const row of this.#known.keys()) {
      if (this.#known.size <= cacheSize) break;
      this.#known.delete(row);
    }
    this.changed();
  }

  #compare(set: number, inputs: readonly InputText[]): void {
    const traits = this.#traits.get(set) ?? new Map<string, Trait>();
    this.#traits.set(set, traits);
    for (const { name, value, kind } of inputs) {
      const trait = traits.get(name);
      if (!trait) traits.set(name, { first: value, kind, differs: false });
      else if (trait.first !== value || trait.kind !== kind) trait.differs = true;
    }
  }
}
