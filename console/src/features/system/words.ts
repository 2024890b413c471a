import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Figure, Setting } from "@gen/flytebinary/insight/v1/system_pb.js";
import { bytes, count, duration } from "@/design/format";

/** A span in milliseconds, with fractions where it is short. */
export const shortly = (ms: number): string => (ms > 0 && ms < 10 ? `${ms < 0.1 ? "< 0.1" : ms.toFixed(1)} ms` : duration(ms));

export const msOfDuration = (span: Duration): number => Number(span.seconds) * 1000 + span.nanos / 1e6;

/** A figure with its unit. */
export function amount(value: number, unit: string): string {
  switch (unit) {
    case "s":
      return shortly(value * 1000);
    case "bytes":
      return bytes(value);
    case "1/s":
      return `${value < 10 ? value.toFixed(1) : count(Math.round(value))} /s`;
    default:
      return Number.isInteger(value) ? count(value) : value.toFixed(2);
  }
}

/** Figures by group, in the order in which they come. */
export function groupsOf(figures: readonly Figure[]): readonly (readonly [group: string, figures: readonly Figure[]])[] {
  const groups = new Map<string, Figure[]>();
  for (const figure of figures) {
    const group = groups.get(figure.group);
    if (group) group.push(figure);
    else groups.set(figure.group, [figure]);
  }
  return [...groups];
}

const mended: Readonly<Record<string, string>> = {
  task_action_missing: "A live action had no TaskAction: it was made again",
  task_action_deleted: "Somebody deleted the TaskAction of a live action: it was made again",
  task_action_finished: "An action had ended and its TaskAction was still there: it was deleted",
  task_action_unknown: "A TaskAction belonged to no action: it was deleted",
  task_action_unmarked: "A TaskAction was from before there were marks of ownership: it was marked",
  task_action_over: "The record wanted nothing more of an action whose TaskAction was there: it was ended",
  pod_orphaned: "A pod had no TaskAction: it was deleted",
  pod_deleted: "Somebody deleted the pod of a live attempt: the attempt was reported as lost",
};

/** What was mended, in words; kinds that are not known here speak for themselves. */
export const mendedWords = (kind: string): string => mended[kind] ?? kind.replaceAll("_", " ");

/** The settings that a search wants: every word of it is in the key or the value. */
export function chosen(settings: readonly Setting[], q: string, changed: boolean): readonly Setting[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter((one) => {
    const text = `${one.key} ${one.value}`.toLowerCase();
    return (!changed || !one.isDefault) && words.every((word) => text.includes(word));
  });
}

/** What was seen of figures, by group and name, the latest last. */
export type History = ReadonlyMap<string, readonly number[]>;

export const historyKey = ({ group, name }: { readonly group: string; readonly name: string }): string => `${group}/${name}`;

/** So many looks are remembered. */
export const remembered = 60;

export function remember(history: History, figures: readonly Figure[]): History {
  return new Map(figures.map((figure) => [historyKey(figure), [...(history.get(historyKey(figure)) ?? []), figure.value].slice(-remembered)]));
}

/** The points of a line through values, in a box of 1 by 1 with the latest at the right; empty where nothing changes. */
export function points(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (values.length < 2 || high === low) return "";
  return values.map((value, at) => `${((remembered - values.length + at) / (remembered - 1)).toFixed(3)},${(1 - (value - low) / (high - low)).toFixed(3)}`).join(" ");
}
