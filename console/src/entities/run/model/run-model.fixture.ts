import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { WatchRunActionsResponseSchema } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunModel } from "./run-model";

/** An action of a run that a test makes up; the first is the root. Times are in milliseconds after the run was created. */
export interface Made {
  readonly name: string;
  readonly parent?: string;
  readonly group?: string;
  readonly title?: string;
  readonly phase?: ActionPhase;
  readonly attempt?: number;
  readonly created?: number;
  readonly started?: number;
  readonly ended?: number;
}

/** A model with these actions, as a server would send them. */
export function modelOf(actions: readonly Made[], model = new RunModel()): RunModel {
  const numbers = new Map(actions.map(({ name }, number) => [name, number]));
  const strings = [""];
  const places = new Map([["", 0]]);
  const text = (words = "") => {
    let place = places.get(words);
    if (place === undefined) places.set(words, (place = strings.push(words) - 1));
    return place;
  };
  model.apply(create(WatchRunActionsResponseSchema, { part: { case: "start", value: { totalActions: actions.length, createdAt: timestampFromMs(0) } } }));
  model.apply(
    create(WatchRunActionsResponseSchema, {
      part: {
        case: "actions",
        value: {
          numbers: actions.map((_, number) => number),
          names: actions.map(({ name }) => name),
          parents: actions.map(({ parent }, number) => (parent === undefined ? number : (numbers.get(parent) ?? 0))),
          groups: actions.map(({ group }) => text(group)),
          titles: actions.map(({ title }) => text(title)),
          types: actions.map(() => 1),
          phases: actions.map(({ phase = ActionPhase.SUCCEEDED }) => phase),
          attempts: actions.map(({ attempt = 1 }) => attempt),
          created: actions.map(({ created = 0 }) => created),
          started: actions.map(({ started = -1 }) => started + 1),
          ended: actions.map(({ ended = -1 }) => ended + 1),
          flags: actions.map(() => 0),
          strings,
        },
      },
    }),
  );
  model.apply(create(WatchRunActionsResponseSchema, { part: { case: "caughtUp", value: { cursor: 1n, now: timestampFromMs(Date.now()) } } }));
  return model;
}

/** A run with this many actions: a root with parents that have children of three kinds, some of which fail. */
export function madeUpRun(count: number, parents = 100): RunModel {
  const actions: Made[] = [{ name: "a0", title: "main", created: 0, started: 200, ended: count * 10 + 5000 }];
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
  return modelOf(actions);
}
