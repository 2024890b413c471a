import { isFailure } from "@/design/phases";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { endOf } from "./segments";
import type { TimeRange } from "./scale";

/** How much was running in each of many equal intervals. */
export interface Density {
  /** How many actions were running. */
  readonly running: Float32Array;
  /** How many were created and had not begun to run. */
  readonly waiting: Float32Array;
  /** How many failed. */
  readonly failed: Float32Array;
  /** The maximum number of active actions. */
  readonly peak: number;
}

const rowsInOneGo = 4096;

/** Counts all actions, in steps. */
export function* densityOf(model: RunModel, range: TimeRange, bins: number, now: number): Generator<void, Density> {
  const [running, waiting, failed] = [new Float32Array(bins + 1), new Float32Array(bins + 1), new Float32Array(bins + 1)];
  const perMs = bins / Math.max(1, range.to - range.from);
  const bin = (ms: number) => Math.min(bins - 1, Math.max(0, Math.floor((ms - range.from) * perMs)));
  const add = (counts: Float32Array, from: number, to: number) => {
    const [first, after] = [bin(from), bin(to) + 1];
    counts[first] = (counts[first] ?? 0) + 1;
    counts[after] = (counts[after] ?? 0) - 1;
  };
  for (let row = 0; row < model.size; row++) {
    if (row % rowsInOneGo === rowsInOneGo - 1) yield;
    const [created, started, end] = [model.created(row), model.started(row), endOf(model, row, now)];
    const begun = started === none ? end : started;
    if (begun > created) add(waiting, created, begun);
    if (started !== none) add(running, started, end);
    if (isFailure(model.phase(row))) {
      const at = bin(end);
      failed[at] = (failed[at] ?? 0) + 1;
    }
  }
  let peak = 1;
  for (let i = 0, [r, w] = [0, 0]; i < bins; i++) {
    running[i] = r += running[i] ?? 0;
    waiting[i] = w += waiting[i] ?? 0;
    peak = Math.max(peak, r + w);
  }
  return { running: running.subarray(0, bins), waiting: waiting.subarray(0, bins), failed: failed.subarray(0, bins), peak };
}
