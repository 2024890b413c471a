import type { RunName } from "@/entities/run/kind";
import { problemOf } from "@/api/problem";

/** The result for one run. */
export type Result =
  | { readonly kind: "done"; /** The new run, if there is one. */ readonly created?: RunName }
  | { readonly kind: "skipped" | "refused"; readonly why: string };

export interface Outcome {
  readonly run: RunName;
  readonly result: Result;
}

export interface Bulk {
  readonly runs: readonly RunName[];
  /** Acts on one run; an error counts as a refusal. It is retried after temporary errors, so it must be idempotent. */
  readonly act: (run: RunName, signal: AbortSignal) => Promise<Result>;
  /** Called once for each run. */
  readonly onOutcome: (outcome: Outcome) => void;
  /** Stops before the next run. */
  readonly signal: AbortSignal;
  /** The number of parallel requests. */
  readonly parallel?: number;
  /** The backoff before the first retry, in milliseconds; it doubles. */
  readonly pause?: number;
}

const maxAttempts = 5;

/** Acts on many runs, a few in parallel. Resolves when all are done, or after a stop when those in flight are. */
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
      if (!passing || n === maxAttempts || signal.aborted) return { kind: "refused", why: message || title };
      await new Promise((resolve) => setTimeout(resolve, pause * 2 ** (n - 1)));
    }
  }
}

/** Runs with the same outcome. */
export interface Group {
  readonly why: string;
  readonly runs: readonly RunName[];
}

/** The outcomes of a bulk action, with failures grouped by reason, most frequent first. */
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
      // Group refusals that differ only in the name of the run.
      const why = result.why.replaceAll(run.name, "…");
      byReason.set(why, [...(byReason.get(why) ?? []), run]);
    }
    return [...byReason].map(([why, runs]) => ({ why, runs })).sort((a, b) => b.runs.length - a.runs.length);
  };
  return { done: outcomes.filter(({ result }) => result.kind === "done"), skipped: groups("skipped"), refused: groups("refused") };
}
