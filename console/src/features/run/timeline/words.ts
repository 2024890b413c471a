import { duration } from "@/design/format";
import { lookOf } from "@/design/phases";
import { nameOf } from "@/entities/action/identity";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { t, tn } from "@/texts/texts";
import { sinceStart } from "./ticks";
import { endOf } from "./segments";

/** The description of a row of the timeline, for screen readers. */
export function describe(model: RunModel, row: number, now: number, onPath: boolean): string {
  const started = model.started(row);
  const words = [nameOf(model, row), lookOf(model.phase(row)).label, t("created {time}", { time: offset(model.created(row)) })];
  if (started !== none) {
    words.push(
      t("waited {time}", { time: duration(started - model.created(row)) }),
      `${model.ended(row) === none ? t("running for") : "ran"} ${duration(endOf(model, row, now) - started)}`,
    );
  }
  if (model.attempt(row) > 1) words.push(t("attempt {attempt}", { attempt: model.attempt(row) }));
  if (model.cached(row)) words.push("cached");
  if (model.childCount(row) > 0) words.push(tn(model.childCount(row), "{n} child", "{n} children"));
  if (onPath) words.push(t("on the critical path"));
  return words.join(", ");
}

/** A time relative to the creation of the run. */
export const offset = (ms: number): string => (ms <= 0 ? t("at the start") : `at +${sinceStart(ms, ms < 10_000 ? 10 : 1000)}`);
