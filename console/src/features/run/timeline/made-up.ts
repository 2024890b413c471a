import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { WatchRunActionsResponseSchema } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { RunModel } from "@/features/run/model/run-model";

/** An action of a run that a test makes up. Times are in milliseconds after the run was created. */
export interface MadeUp {
  readonly name: string;
  readonly parent?: string;
  readonly title?: string;
  readonly group?: string;
  readonly phase?: ActionPhase;
  readonly attempt?: number;
  readonly created?: number;
  readonly started?: number;
  readonly ended?: number;
}

/** A model with these actions; the first is the root. */
export function madeUp(actions: readonly MadeUp[], createdAt = 0): RunModel {
  const model = new RunModel();
  const numbers = new Map(actions.map((action, i) => [action.name, i]));
  const strings = [""];
  const places = new Map([["", 0]]);
  const text = (value = "") => {
    let place = places.get(value);
    if (place === undefined) places.set(value, (place = strings.push(value) - 1));
    return place;
  };
  const part = {
    case: "actions" as const,
    value: {
      numbers: actions.map((_, i) => i),
      names: actions.map((action) => action.name),
      parents: actions.map((action, i) => numbers.get(action.parent ?? "") ?? (i === 0 ? 0 : 0)),
      groups: actions.map((action) => text(action.group)),
      titles: actions.map((action) => text(action.title)),
      phases: actions.map((action) => action.phase ?? ActionPhase.SUCCEEDED),
      attempts: actions.map((action) => action.attempt ?? 1),
      created: actions.map((action) => action.created ?? 0),
      started: actions.map((action) => (action.started === undefined ? 0 : action.started + 1)),
      ended: actions.map((action) => (action.ended === undefined ? 0 : action.ended + 1)),
      strings,
    },
  };
  model.apply(create(WatchRunActionsResponseSchema, { part: { case: "start", value: { totalActions: actions.length, createdAt: timestampFromMs(createdAt) } } }));
  model.apply(create(WatchRunActionsResponseSchema, { part }));
  model.apply(create(WatchRunActionsResponseSchema, { part: { case: "caughtUp", value: { cursor: 1n } } }));
  return model;
}

/** A run with so many actions: a root with parents that have children of three kinds, some of which fail. */
export function madeUpRun(count: number, parents = 100): RunModel {
  const actions: MadeUp[] = [{ name: "a0", title: "main", created: 0, started: 200, ended: count * 10 + 5000 }];
  const groups = Math.min(parents, count - 1);
  for (let i = 1; i < count; i++) {
    const top = i <= groups;
    const created = top ? 200 + i * 5 : 300 + ((i * 7919) % (count * 9));
    const started = created + 50 + ((i * 31) % 900);
    actions.push({
      name: `a${i}`,
      parent: top ? "a0" : `a${1 + (i % groups)}`,
      title: top ? "fold" : (["load", "train", "score"][i % 3] ?? ""),
      phase: i % 97 === 0 ? ActionPhase.FAILED : ActionPhase.SUCCEEDED,
      attempt: i % 41 === 0 ? 2 : 1,
      created,
      started,
      ended: top ? count * 10 + 1000 : started + 100 + ((i * 104729) % 8000),
    });
  }
  return madeUp(actions);
}
