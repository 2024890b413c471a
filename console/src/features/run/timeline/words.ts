import { duration } from "@/design/format";
import { lookOf } from "@/design/phases";
import { none, type RunModel } from "@/features/run/model/run-model";
import { sinceStart } from "./ticks";
import { endOf } from "./segments";

/** A row of the timeline in a sentence, for those who do not see it. */
export function describe(model: RunModel, row: number, now: number, onPath: boolean): string {
  const started = model.started(row);
  const words = [model.title(row), lookOf(model.phase(row)).label, `created ${offset(model.created(row))}`];
  if (started !== none) {
    words.push(`waited ${duration(started - model.created(row))}`, `${model.ended(row) === none ? "running for" : "ran"} ${duration(endOf(model, row, now) - started)}`);
  }
  if (model.attempt(row) > 1) words.push(`attempt ${model.attempt(row)}`);
  if (model.cached(row)) words.push("from the cache");
  if (model.childCount(row) > 0) words.push(`${model.childCount(row)} children`);
  if (onPath) words.push("on the critical path");
  return words.join(", ");
}

/** A moment as the time since the run was created. */
export const offset = (ms: number): string => (ms <= 0 ? "at the start" : `at +${sinceStart(ms, ms < 10_000 ? 10 : 1000)}`);
