import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Figure, Setting } from "@gen/flytebinary/insight/v1/system_pb.js";
import { bytes, count, duration } from "@/design/format";
import { fixed, t } from "@/texts/texts";

/** A duration in milliseconds, with fractions if it is short. */
export const shortly = (ms: number): string => (ms > 0 && ms < 10 ? `${ms < 0.1 ? `< ${fixed(0.1, 1)}` : fixed(ms, 1)} ms` : duration(ms));

export const msOfDuration = (span: Duration): number => Number(span.seconds) * 1000 + span.nanos / 1e6;

/** The value of a metric with its unit. */
export function amount(value: number, unit: string): string {
  switch (unit) {
    case "s":
      return shortly(value * 1000);
    case "bytes":
      return bytes(value);
    case "1/s":
      return `${value < 10 ? fixed(value, 1) : count(Math.round(value))} /s`;
    default:
      return Number.isInteger(value) ? count(value) : fixed(value, 2);
  }
}

/** Metrics by group, in the order of the server. */
export function groupsOf(figures: readonly Figure[]): readonly (readonly [group: string, figures: readonly Figure[]])[] {
  const groups = new Map<string, Figure[]>();
  for (const figure of figures) {
    const group = groups.get(figure.group);
    if (group) group.push(figure);
    else groups.set(figure.group, [figure]);
  }
  return [...groups];
}

const repairs: Readonly<Record<string, string>> = {
  task_action_missing: t("Recreated the missing TaskAction of a live action"),
  task_action_deleted: t("Recreated the TaskAction of a live action after something deleted it"),
  task_action_finished: t("Deleted leftover TaskAction of a finished action"),
  task_action_unknown: t("Deleted a TaskAction without an action"),
  task_action_unmarked: t("Labeled a TaskAction that had no ownership label"),
  task_action_over: t("Terminated the TaskAction of an action that is no longer live"),
  pod_orphaned: t("Deleted a pod without a TaskAction"),
  pod_deleted: t("Reported an attempt as lost after something deleted its pod"),
};

/** A kind of repair as text; unknown kinds are shown by name. */
export const repairWords = (kind: string): string => repairs[kind] ?? kind.replaceAll("_", " ");

/** The settings whose key or value contains every word of a search. */
export function filterSettings(settings: readonly Setting[], q: string, changed: boolean): readonly Setting[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter((one) => {
    const text = `${one.key} ${one.value}`.toLowerCase();
    return (!changed || !one.isDefault) && words.every((word) => text.includes(word));
  });
}

/** Past values of metrics by group and name, latest last. */
export type History = ReadonlyMap<string, readonly number[]>;

export const historyKey = ({ group, name }: { readonly group: string; readonly name: string }): string => `${group}/${name}`;

/** The number of past values that are kept. */
export const historyLength = 60;

export function addToHistory(history: History, figures: readonly Figure[]): History {
  return new Map(figures.map((figure) => [historyKey(figure), [...(history.get(historyKey(figure)) ?? []), figure.value].slice(-historyLength)]));
}

/** The points of a sparkline in a 1 by 1 box, latest value at the right; empty if all values are equal. */
export function points(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (values.length < 2 || high === low) return "";
  return values
    .map((value, at) => `${((historyLength - values.length + at) / (historyLength - 1)).toFixed(3)},${(1 - (value - low) / (high - low)).toFixed(3)}`)
    .join(" ");
}
