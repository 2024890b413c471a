import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { isFailure, isTerminal } from "@/design/phases";
import { none, type RunModel } from "@/entities/run/model/run-model";

/** The actions of one task in one run. Times are in milliseconds. */
export interface Share {
  readonly count: number;
  readonly failed: number;
  readonly cached: number;
  /** The total, median and longest duration of those that ran. */
  readonly total: number;
  readonly median: number | undefined;
  readonly longest: number;
}

/** The actions of one task in both runs. */
export interface TitleRow {
  readonly title: string;
  readonly a: Share;
  readonly b: Share;
  /** How much longer the second run took in total. */
  readonly difference: number;
}

/** An action of one run and its counterpart in the other; either may be missing. */
export interface Pair {
  readonly name: string;
  readonly a: number | undefined;
  readonly b: number | undefined;
}

/** The duration of an action; undefined until it has ended. */
export function durationOf(model: RunModel, row: number): number | undefined {
  const ended = model.ended(row);
  if (ended === none || !isTerminal(model.phase(row))) return undefined;
  const started = model.started(row);
  return Math.max(0, ended - (started === none ? model.created(row) : started));
}

/** The actions of two runs by title, largest difference first. */
export function alignTitles(a: RunModel, b: RunModel): TitleRow[] {
  const left = sharesOf(a);
  const right = sharesOf(b);
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((title) => {
      const one = left.get(title) ?? nothing;
      const other = right.get(title) ?? nothing;
      return { title, a: one, b: other, difference: other.total - one.total };
    })
    .sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference) || (x.title < y.title ? -1 : 1));
}

const nothing: Share = { count: 0, failed: 0, cached: 0, total: 0, median: undefined, longest: 0 };

function sharesOf(model: RunModel): Map<string, Share> {
  const found = new Map<string, { times: number[]; count: number; failed: number; cached: number }>();
  for (let row = 0; row < model.size; row++) {
    const title = model.title(row);
    let share = found.get(title);
    if (!share) found.set(title, (share = { times: [], count: 0, failed: 0, cached: 0 }));
    share.count++;
    if (isFailure(model.phase(row))) share.failed++;
    if (model.cached(row) || model.phase(row) === ActionPhase.RECOVERED) share.cached++;
    const time = durationOf(model, row);
    if (time !== undefined) share.times.push(time);
  }
  return new Map(
    [...found].map(([title, { times, ...counts }]) => {
      times.sort((x, y) => x - y);
      return [
        title,
        { ...counts, total: times.reduce((sum, one) => sum + one, 0), median: times[Math.floor((times.length - 1) / 2)], longest: times.at(-1) ?? 0 },
      ];
    }),
  );
}

/** Pairs the actions of a title: first by name, which is stable for the same call of the same code, then by order. */
export function pairsOf(a: RunModel, b: RunModel, title: string): Pair[] {
  const left = rowsOf(a, title);
  const right = rowsOf(b, title);
  const pairs: Pair[] = [];
  const unmatched: number[] = [];
  const taken = new Set<number>();
  for (const row of left) {
    const other = b.row(a.name(row));
    if (other !== none && b.title(other) === title) {
      taken.add(other);
      pairs.push({ name: a.name(row), a: row, b: other });
    } else unmatched.push(row);
  }
  const others = right.filter((row) => !taken.has(row));
  for (let at = 0; at < Math.max(unmatched.length, others.length); at++) {
    const one = unmatched[at];
    const other = others[at];
    pairs.push({ name: one !== undefined ? a.name(one) : other !== undefined ? b.name(other) : "", a: one, b: other });
  }
  return pairs;
}

function rowsOf(model: RunModel, title: string): number[] {
  const rows: number[] = [];
  for (let row = 0; row < model.size; row++) if (model.title(row) === title) rows.push(row);
  return rows;
}

/** A relative change in percent; undefined if the base is 0. */
export const change = (before: number, after: number): number | undefined => (before === 0 ? undefined : ((after - before) / before) * 100);
