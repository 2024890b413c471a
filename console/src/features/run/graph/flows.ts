import { Code } from "@connectrpc/connect";
import type { RunModel } from "@/entities/run/model/run-model";
import { Inquiry, type Question } from "@/api/inquiry";
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
const nothing: readonly Flow[] = [];

interface Known extends FlowAnswer {
  /** What the parent looked like when it was asked for. */
  readonly mark: string;
  readonly at: number;
}

/** Who took what from whom, for the actions whose children are drawn. */
export class Flows {
  readonly #known = new Map<string, Known>(); // by the parent's name
  readonly #inquiry = new Inquiry(() => this.#next(), 0);
  #wanted: readonly number[] = [];

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
    this.#inquiry.want();
  }

  /** Ends all questions, until something is wanted again. */
  stop(): void {
    this.#inquiry.stop();
  }

  #next(): Question | number | undefined {
    const now = performance.now();
    const stale = this.#wanted.filter((row) => this.#known.get(this.model.name(row))?.mark !== this.#mark(row));
    const row = stale.find((wanted) => now - (this.#known.get(this.model.name(wanted))?.at ?? -renewal) >= renewal);
    if (row === undefined) return stale.length > 0 ? renewal : undefined;
    const [parent, mark] = [this.model.name(row), this.#mark(row)];
    const know = ({ edges, truncated }: FlowAnswer) => this.#known.set(parent, { mark, at: performance.now(), edges, truncated });
    return {
      ask: async (signal) => {
        const answer = await this.ask(parent, signal);
        know(answer);
        if (answer.edges.length > 0) this.changed();
      },
      refused: ({ code }) => {
        know({ edges: this.of(row), truncated: false });
        return code !== Code.Unimplemented;
      },
    };
  }

  #mark(row: number): string {
    return `${this.model.childCount(row)}.${this.model.ended(row)}`;
  }
}
