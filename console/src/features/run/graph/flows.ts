import { Code } from "@connectrpc/connect";
import { problemOf } from "@/api/problem";
import type { RunModel } from "@/features/run/model/run-model";
import type { Flow } from "./edges";

/** What the server says of the children of an action. */
export interface FlowAnswer {
  readonly edges: readonly Flow[];
  /** Whether only the first children were looked at. */
  readonly truncated: boolean;
}

export type AskFlows = (parent: string, signal: AbortSignal) => Promise<FlowAnswer>;

/** How soon an action that gets children all the time is asked for again, in milliseconds. */
const renewal = 5000;
const pauses = [500, 1000, 2000, 5000, 10_000];
const nothing: readonly Flow[] = [];

interface Known extends FlowAnswer {
  /** What the parent looked like when it was asked for. */
  readonly mark: string;
  readonly at: number;
}

/** Who took what from whom, for the actions whose children are drawn. One question at a time. */
export class Flows {
  readonly #known = new Map<string, Known>(); // by the parent's name
  #control = new AbortController();
  #wanted: readonly number[] = [];
  #asking = false;
  #refused = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly model: RunModel,
    readonly ask: AskFlows,
    readonly changed: () => void,
  ) {}

  /** What is known of the children of a row. */
  of(row: number): readonly Flow[] {
    return this.#known.get(this.model.name(row))?.edges ?? nothing;
  }

  /** Whether for some of these rows not all children were looked at. */
  truncated(rows: readonly number[]): boolean {
    return rows.some((row) => this.#known.get(this.model.name(row))?.truncated);
  }

  /** Says of which rows the children are drawn now. */
  want(rows: readonly number[]): void {
    this.#wanted = rows.filter((row) => this.model.childCount(row) > 1);
    this.#later(0);
  }

  /** Ends all questions, until something is wanted again. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#control.abort();
    this.#control = new AbortController();
  }

  #later(pause: number): void {
    if (this.#asking || this.#timer !== undefined || this.#refused) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#work();
    }, pause);
  }

  async #work(): Promise<void> {
    const now = performance.now();
    const stale = (row: number) => this.#known.get(this.model.name(row))?.mark !== this.#mark(row);
    const row = this.#wanted.find((wanted) => stale(wanted) && now - (this.#known.get(this.model.name(wanted))?.at ?? -renewal) >= renewal);
    if (row === undefined) {
      if (this.#wanted.some(stale)) this.#later(renewal);
      return;
    }
    const [name, mark] = [this.model.name(row), this.#mark(row)];
    const { signal } = this.#control;
    let pause = 0;
    this.#asking = true;
    try {
      const { edges, truncated } = await this.ask(name, signal);
      this.#known.set(name, { mark, at: performance.now(), edges, truncated });
      this.#failures = 0;
      if (edges.length > 0) this.changed();
    } catch (error) {
      if (signal.aborted) return;
      const problem = problemOf(error);
      if (problem.passing) pause = pauses[Math.min(this.#failures++, pauses.length - 1)] ?? renewal;
      else if (problem.code === Code.Unimplemented) this.#refused = true;
      else this.#known.set(name, { mark, at: performance.now(), edges: this.of(row), truncated: false }); // not of this one
    } finally {
      this.#asking = false;
    }
    if (!signal.aborted) this.#later(pause);
  }

  #mark(row: number): string {
    return `${this.model.childCount(row)}.${this.model.ended(row)}`;
  }
}
