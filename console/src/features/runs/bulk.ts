import type { RunName } from "@/features/run/model/use-run-model";
import { problemOf } from "@/api/problem";

/** How one of many went. */
export type Result =
  | { readonly kind: "done"; /** What came of it, where it is a run. */ readonly made?: RunName }
  | { readonly kind: "skipped" | "refused"; readonly why: string };

export interface Outcome {
  readonly run: RunName;
  readonly result: Result;
}

export interface Bulk {
  readonly runs: readonly RunName[];
  /** Does it to one run; what it throws is a refusal. It is called again after an error that may pass, and has to bear that. */
  readonly act: (run: RunName, signal: AbortSignal) => Promise<Result>;
  /** Tells each outcome once. */
  readonly onOutcome: (outcome: Outcome) => void;
  /** Stops before the next run. */
  readonly signal: AbortSignal;
  /** How many at once. */
  readonly parallel?: number;
  /** The pause before the first repetition, in milliseconds; it doubles. */
  readonly pause?: number;
}

const attempts = 5;

/** Does something to many runs, a few at a time. It resolves when all are done, or those under way after it was stopped. */
export async function runBulk({ runs, act, onOutcome, signal, parallel = 4, pause = 500 }: Bulk): Promise<void> {
  let next = 0;
  const work = async () => {
    for (;;) {
      const run = signal.aborted ? undefined : runs[next++];
      if (!run) return;
      onOutcome({ run, result: await attempt(run, act, signal, pause) });
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, runs.length) }, work));
}

async function attempt(run: RunName, act: Bulk["act"], signal: AbortSignal, pause: number): Promise<Result> {
  for (let n = 1; ; n++) {
    try {
      return await act(run, signal);
    } catch (error) {
      const { title, message, passing } = problemOf(error);
      if (!passing || n === attempts || signal.aborted) return { kind: "refused", why: message || title };
      await new Promise((resolve) => setTimeout(resolve, pause * 2 ** (n - 1)));
    }
  }
}

/** Outcomes that went alike. */
export interface Group {
  readonly why: string;
  readonly runs: readonly RunName[];
}

/** What came of many: how many were done, and the others by reason, the commonest first. */
export interface Summary {
  readonly done: readonly Outcome[];
  readonly skipped: readonly Group[];
  readonly refused: readonly Group[];
}

export function summarize(outcomes: readonly Outcome[]): Summary {
  const groups = (kind: "skipped" | "refused"): readonly Group[] => {
    const byReason = new Map<string, RunName[]>();
    for (const { run, result } of outcomes) {
      if (result.kind !== kind) continue;
      // The same refusal of two runs differs in their names.
      const why = result.why.replaceAll(run.name, "…");
      byReason.set(why, [...(byReason.get(why) ?? []), run]);
    }
    return [...byReason].map(([why, runs]) => ({ why, runs })).sort((a, b) => b.runs.length - a.runs.length);
  };
  return { done: outcomes.filter(({ result }) => result.kind === "done"), skipped: groups("skipped"), refused: groups("refused") };
}
