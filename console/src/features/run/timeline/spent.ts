import type { Step } from "./critical-path";
import type { Segment } from "./segments";

/** What an action did during its part of the critical path, in milliseconds. */
export interface Spent {
  /** Before its first attempt ran. */
  readonly waited: number;
  readonly ran: number;
  /** Until a person or a system answered. */
  readonly paused: number;
  /** Between its attempts: the pauses before retries, and waiting and starting again. */
  readonly between: number;
}

/** Divides the steps of an action by its segments. What no segment covers counts as running. */
export function spentOf(steps: readonly Step[], segments: readonly Segment[]): Spent {
  let [waited, ran, paused, between] = [0, 0, 0, 0];
  for (const step of steps) {
    const length = step.to - step.from;
    if (step.waiting) {
      waited += length;
      continue;
    }
    let other = 0;
    for (const segment of segments) {
      const shared = Math.min(step.to, segment.to) - Math.max(step.from, segment.from);
      if (shared <= 0 || segment.stage === "running") continue;
      if (segment.stage === "paused") paused += shared;
      else between += shared;
      other += shared;
    }
    ran += Math.max(0, length - other);
  }
  return { waited, ran, paused, between };
}
