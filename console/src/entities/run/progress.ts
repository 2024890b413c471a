import { durationMs } from "@bufbuild/protobuf/wkt";
import type { PhaseCount } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import type { RunSummary } from "@gen/flytebinary/insight/v1/runs_pb.js";
import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { msOf } from "@/design/format";
import type { PhaseCounts } from "@/design/phase";
import { isTerminal } from "@/design/phases";

/** How far an unfinished run is: its actions by phase, without the root, and how many of them have ended. */
export interface Progress {
  readonly counts: PhaseCounts;
  readonly done: number;
  readonly all: number;
}

export const countsOf = (counts: readonly PhaseCount[]): ReadonlyMap<ActionPhase, number> =>
  new Map(counts.map(({ phase, count }) => [phase as ActionPhase, count]));

/** The progress of an unfinished run whose root is in a phase; undefined if it has no other action, or if nothing is known. */
export function progressOf(all: PhaseCounts, root: ActionPhase): Progress | undefined {
  const counts = new Map(all);
  const own = counts.get(root) ?? 0;
  if (own === 0) return undefined; // it was counted before the root came into this phase
  counts.set(root, own - 1);
  let sum = 0;
  let done = 0;
  for (const [phase, n] of counts) {
    sum += n;
    if (isTerminal(phase)) done += n;
  }
  return sum === 0 ? undefined : { counts, done, all: sum };
}

/** When a run probably ends, or that it takes longer than usual. */
export type Outlook = { readonly kind: "by"; readonly at: Date; readonly nine: boolean } | { readonly kind: "late" };

/**
 * The end to expect from earlier runs: the median, after it the time under which nine in ten stayed. Undefined before the first start and
 * without earlier runs.
 */
export function outlookOf({ startedAt, usual }: Pick<RunSummary, "startedAt" | "usual">, now: number): Outlook | undefined {
  const started = msOf(startedAt);
  if (started === undefined || !usual?.p50 || !usual.p90) return undefined;
  const [half, nine] = [started + durationMs(usual.p50), started + durationMs(usual.p90)];
  if (now <= half) return { kind: "by", at: new Date(half), nine: false };
  return now <= nine ? { kind: "by", at: new Date(nine), nine: true } : { kind: "late" };
}
