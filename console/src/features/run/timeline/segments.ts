import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { isTerminal } from "@/design/phases";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { t } from "@/texts/texts";

/** A change of phase, as reported by the server. */
export interface Change {
  readonly attempt: number;
  readonly phase: ActionPhase;
  /** In milliseconds after the run was created. */
  readonly at: number;
}

/** What an action does during a segment. */
export type Stage = "queued" | "waiting" | "initializing" | "running" | "paused" | "backoff";

/** A part of the time of an action. */
export interface Segment {
  readonly stage: Stage;
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
  /** The phase whose color it gets: the outcome of the attempt, once it ended. */
  readonly drawnAs: ActionPhase;
}

const stages: Partial<Record<ActionPhase, Stage>> = {
  [ActionPhase.QUEUED]: "queued",
  [ActionPhase.WAITING_FOR_RESOURCES]: "waiting",
  [ActionPhase.INITIALIZING]: "initializing",
  [ActionPhase.RUNNING]: "running",
  [ActionPhase.PAUSED]: "paused",
};

export const stageNames: Record<Stage, string> = {
  queued: t("Queued"),
  waiting: t("Waiting for resources"),
  initializing: t("Initializing"),
  running: t("Running"),
  paused: t("Paused"),
  backoff: t("Backing off"),
};

/** When an action ended, or the present. */
export const endOf = (model: RunModel, row: number, now: number): number => {
  const ended = model.ended(row);
  return ended === none ? Math.max(now, model.created(row)) : ended;
};

/** The segments of an action whose changes of phase are not loaded. */
export function coarseSegments(model: RunModel, row: number, now: number): Segment[] {
  const [created, started, phase, attempt] = [model.created(row), model.started(row), model.phase(row), Math.max(1, model.attempt(row))];
  const end = endOf(model, row, now);
  if (started === none) {
    const stage = stages[phase] ?? "queued";
    return [{ stage, attempt, from: created, to: end, drawnAs: isTerminal(phase) && model.cached(row) ? phase : colourPhase(stage, phase) }];
  }
  const stage = stages[phase] ?? "running";
  return [
    { stage: "queued" as const, attempt: 1, from: created, to: started, drawnAs: ActionPhase.QUEUED },
    { stage: stage === "paused" ? stage : ("running" as const), attempt, from: started, to: end, drawnAs: stage === "paused" ? ActionPhase.PAUSED : phase },
  ].filter((segment) => segment.to > segment.from || segment.stage !== "queued");
}

/** The segments of an action by its changes of phase. */
export function segmentsOf(model: RunModel, row: number, changes: readonly Change[], now: number): Segment[] {
  const first = changes[0];
  if (!first) return coarseSegments(model, row, now);
  const end = endOf(model, row, now);
  const segments: Segment[] = [];
  const add = (segment: Segment) => {
    const last = segments.at(-1);
    if (last && last.stage === segment.stage && last.attempt === segment.attempt && last.drawnAs === segment.drawnAs) {
      segments[segments.length - 1] = { ...last, to: segment.to };
    } else if (segment.to > segment.from || segment.stage === "running") {
      segments.push(segment);
    }
  };
  const created = model.created(row);
  if (first.at > created) add({ stage: "queued", attempt: first.attempt, from: created, to: first.at, drawnAs: ActionPhase.QUEUED });
  changes.forEach((change, i) => {
    const next = changes[i + 1];
    const to = Math.max(change.at, next?.at ?? (isTerminal(change.phase) ? change.at : end));
    if (isTerminal(change.phase)) {
      if (next) add({ stage: "backoff", attempt: next.attempt, from: change.at, to, drawnAs: ActionPhase.QUEUED });
      return;
    }
    const stage = stages[change.phase] ?? "queued";
    const outcome = stage === "running" ? outcomeOf(changes, i, model.phase(row)) : change.phase;
    add({ stage, attempt: change.attempt, from: change.at, to, drawnAs: colourPhase(stage, outcome) });
  });
  return segments.length > 0 ? segments : coarseSegments(model, row, now);
}

/** The outcome of the attempt that a change belongs to. */
function outcomeOf(changes: readonly Change[], at: number, phase: ActionPhase): ActionPhase {
  const attempt = changes[at]?.attempt;
  for (const change of changes.slice(at + 1)) {
    if (change.attempt !== attempt) return ActionPhase.FAILED; // another attempt replaced it
    if (isTerminal(change.phase)) return change.phase;
  }
  return isTerminal(phase) ? phase : ActionPhase.RUNNING;
}

/** The phase whose color a stage gets. */
function colourPhase(stage: Stage, phase: ActionPhase): ActionPhase {
  switch (stage) {
    case "running":
      return phase;
    case "waiting":
      return ActionPhase.WAITING_FOR_RESOURCES;
    case "initializing":
      return ActionPhase.INITIALIZING;
    case "paused":
      return ActionPhase.PAUSED;
    default:
      return ActionPhase.QUEUED;
  }
}
