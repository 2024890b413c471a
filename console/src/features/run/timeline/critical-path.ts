import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { endOf } from "./segments";

/** A part of the time of the run, and the action that it was spent on. */
export interface Step {
  readonly row: number;
  readonly from: number;
  readonly to: number;
  /** Whether the action had not begun to run. */
  readonly waiting: boolean;
}

/** What an action contributes to how long the run took. */
export interface Share {
  readonly row: number;
  /** How long the run waited for it to begin, in milliseconds. */
  readonly waited: number;
  /** How long the run waited for its own work: that of its children is theirs. */
  readonly worked: number;
  /** Its share of the total, from 0 to 1. */
  readonly share: number;
}

/** The chain of actions that determined when the run ended. */
export interface CriticalPath {
  /** In the order of time, without gaps, from the creation of the root to its end. */
  readonly steps: readonly Step[];
  /** The actions in the order in which they first have a step. */
  readonly shares: readonly Share[];
  readonly total: number;
}

/**
 * Follows a run back from its end. An action was last held up by the child that ended last; before that child was created, by the
 * child that had ended last by then, and so on. The time in between is the action's own. Of a live run it is the path so far,
 * through the child that has been active for longest.
 */
export function criticalPath(model: RunModel, now = model.now, root = 0): CriticalPath {
  if (root >= model.size) return { steps: [], shares: [], total: 0 };
  const steps: Step[] = []; // backwards, turned round at the end
  const end = endOf(model, root, now);
  const stack: Frame[] = [frameOf(model, root, end, now)];
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const child = frame.nextChild();
    if (child === none) {
      own(model, steps, frame.row, frame.begin, frame.until);
      stack.pop();
      continue;
    }
    const ended = Math.min(endOf(model, child, now), frame.until);
    own(model, steps, frame.row, ended, frame.until);
    frame.until = Math.max(frame.begin, Math.min(model.created(child), ended));
    stack.push(frameOf(model, child, ended, now, frame.until));
  }
  steps.reverse();
  const total = end - model.created(root);
  return { steps, shares: sharesOf(steps, total), total };
}

/** An action on the path whose time is being assigned, from its end to its start. */
interface Frame {
  readonly row: number;
  readonly begin: number;
  /** Up to where nothing has been assigned yet. */
  until: number;
  /** The child that held it up last before that; none when there was no more. */
  readonly nextChild: () => number;
}

function frameOf(model: RunModel, row: number, until: number, now: number, begin = model.created(row)): Frame {
  const candidates = childrenByEnd(model, row, until, now);
  let at = candidates.length - 1;
  const frame: Frame = {
    row,
    begin,
    until,
    nextChild: () => {
      for (; at >= 0; at--) {
        const child = candidates[at] ?? none;
        const ended = Math.min(endOf(model, child, now), until);
        if (ended <= frame.until && model.created(child) < frame.until && ended > frame.begin) {
          at--;
          return child;
        }
      }
      return none;
    },
  };
  return frame;
}

/** The children that may have held up an action until a time, the last to end last; of those that end together the first to begin last. */
function childrenByEnd(model: RunModel, row: number, until: number, now: number): Int32Array {
  const count = model.childCount(row);
  if (count === 0) return new Int32Array(0);
  const unfinished = model.ended(row) === none;
  const aborted = model.phase(row) === ActionPhase.ABORTED;
  const rows = new Int32Array(count);
  let length = 0;
  for (let child = model.firstChild(row); child !== none && length < count; child = model.nextSibling(child)) {
    // What ran beyond the end of its parent was not waited for, unless the parent was stopped while it waited.
    const inTime = endOf(model, child, now) <= until || unfinished || (aborted && model.phase(child) === ActionPhase.ABORTED);
    if (inTime) rows[length++] = child;
  }
  // Numbers sort much faster than rows by a comparison: the end, and the place counted from the last.
  const keys = new Float64Array(length);
  for (let i = 0; i < length; i++) keys[i] = Math.round(Math.min(endOf(model, rows[i] ?? 0, now), until)) * 2 ** 21 + (length - 1 - i);
  keys.sort();
  return Int32Array.from(keys, (key) => rows[length - 1 - (key % 2 ** 21)] ?? none);
}

/** Tells an action's own time, backwards: first what it worked, then what it waited to begin. */
function own(model: RunModel, steps: Step[], row: number, from: number, to: number): void {
  if (to <= from) return;
  const started = model.started(row);
  const begun = started === none ? to : Math.min(Math.max(started, from), to);
  if (to > begun) steps.push({ row, from: begun, to, waiting: false });
  if (begun > from) steps.push({ row, from, to: begun, waiting: true });
}

function sharesOf(steps: readonly Step[], total: number): Share[] {
  const shares = new Map<number, { row: number; waited: number; worked: number; share: number }>();
  for (const { row, from, to, waiting } of steps) {
    let share = shares.get(row);
    if (!share) shares.set(row, (share = { row, waited: 0, worked: 0, share: 0 }));
    if (waiting) share.waited += to - from;
    else share.worked += to - from;
  }
  for (const share of shares.values()) share.share = total > 0 ? (share.waited + share.worked) / total : 0;
  return [...shares.values()];
}
