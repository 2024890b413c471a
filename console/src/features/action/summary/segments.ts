import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { ActionAttempt } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { msOf } from "@/design/format";
import { isTerminal } from "@/design/phases";

/** The time that an attempt spent in a phase. */
export interface Segment {
  readonly phase: ActionPhase;
  readonly ms: number;
}

/** The phases of an attempt with their durations; the current one lasts until now. */
export function segmentsOf(attempt: Pick<ActionAttempt, "phaseTransitions" | "endTime">, now: number): Segment[] {
  const { phaseTransitions: transitions } = attempt;
  return transitions.map(({ phase, startTime, endTime }, at) => {
    const from = msOf(startTime) ?? 0;
    const to = msOf(endTime) ?? msOf(transitions[at + 1]?.startTime) ?? (isTerminal(phase) ? from : (msOf(attempt.endTime) ?? now));
    return { phase, ms: Math.max(0, to - from) };
  });
}
