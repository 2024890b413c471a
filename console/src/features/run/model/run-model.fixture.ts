import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { WatchRunActionsResponseSchema } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunModel } from "./run-model";

/** An action of a run that a test makes up; parents come first. */
export interface Made {
  readonly name: string;
  readonly parent?: string;
  readonly group?: string;
  readonly title?: string;
  readonly phase?: ActionPhase;
  readonly created?: number;
  readonly started?: number;
  readonly ended?: number;
}

/** A model with these actions, as a server would tell of them. */
export function modelOf(actions: readonly Made[], model = new RunModel()): RunModel {
  const numbers = new Map(actions.map(({ name }, number) => [name, number]));
  const strings = [""];
  const text = (words = "") => {
    const at = strings.indexOf(words);
    return at >= 0 ? at : strings.push(words) - 1;
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
          attempts: actions.map(() => 1),
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
