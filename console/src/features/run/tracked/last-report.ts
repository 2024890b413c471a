import type { RunModel } from "@/entities/run/model/run-model";

/** A silence of this long, in milliseconds, is worth mentioning. */
export const silentAfter = 10 * 60_000;

/** When an action of the run last started or ended, in milliseconds since the run was created. */
export function lastReport(model: RunModel): number {
  let last = 0;
  for (let row = 0; row < model.size; row++) last = Math.max(last, model.created(row), model.started(row), model.ended(row));
  return last;
}
