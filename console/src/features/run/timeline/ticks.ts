import type { WallClock } from "@/design/wall-clock";
import { fixed } from "@/texts/texts";
import type { TimeRange } from "./scale";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Steps between marks: round numbers. */
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 28, 91, 364].map((n) => n * day),
];

/** A mark on an axis. */
export interface Tick {
  /** In milliseconds after the run was created. */
  readonly at: number;
  readonly label: string;
  /** Where a new minute, hour or day begins. */
  readonly strong: boolean;
}

/** The smallest step that gives at most the wanted number of marks. */
export function stepFor(length: number, wanted: number): number {
  const least = length / Math.max(1, wanted);
  return steps.find((step) => step >= least) ?? Math.ceil(least / (364 * day)) * 364 * day;
}

/** Marks of the time since the run was created. */
export function relativeTicks(range: TimeRange, wanted: number): Tick[] {
  const step = stepFor(range.to - range.from, wanted);
  const ticks: Tick[] = [];
  for (let n = Math.max(0, Math.ceil(range.from / step)); n * step <= range.to; n++) {
    const at = n * step;
    ticks.push({ at, label: sinceStart(at, step), strong: n === 0 });
  }
  return ticks;
}

/** A time since the start, with the precision that marks of a step need: "1 m 5 s", "2 h 30 m". */
export function sinceStart(ms: number, step: number): string {
  if (ms === 0) return "0";
  if (step < second) return ms < second ? `${ms} ms` : `${fixed(ms / second, step < 10 ? 3 : step < 100 ? 2 : 1)} s`;
  if (ms < minute) return `${Math.round(ms / second)} s`;
  const days = Math.floor(ms / day);
  const hours = Math.floor((ms % day) / hour);
  const minutes = Math.floor((ms % hour) / minute);
  const seconds = Math.floor((ms % minute) / second);
  const parts = [
    days > 0 && `${days} d`,
    hours > 0 && `${hours} h`,
    minutes > 0 && `${minutes} m`,
    seconds > 0 && step < minute && `${seconds} s`,
  ].filter((part) => part !== false);
  return parts.slice(0, 3).join(" ");
}

/** Marks of the local time in a time zone; createdAt is in milliseconds since the epoch. */
export function wallTicks(range: TimeRange, wanted: number, createdAt: number, clock: WallClock): Tick[] {
  const step = stepFor(range.to - range.from, wanted);
  const ticks: Tick[] = [];
  const from = createdAt + range.from;
  const ahead = clock.offset(from);
  let before = Number.NEGATIVE_INFINITY;
  // The steps are in local time. At a change to or from daylight saving time, the moments between them differ.
  for (let shown = Math.ceil((from + ahead) / step) * step; ; shown += step) {
    const at = shown - clock.offset(shown - ahead);
    if (at > createdAt + range.to) return ticks;
    if (at <= before) continue;
    before = at;
    const midnight = shown % day === 0;
    ticks.push({ at: at - createdAt, label: midnight ? clock.text(at).slice(0, 10) : timeOf(clock.text(at), step), strong: midnight });
  }
}

/** The time of day, with the precision that marks of a step need. */
const timeOf = (shown: string, step: number): string => shown.slice(11, step < second ? 23 : step < minute ? 19 : 16);
