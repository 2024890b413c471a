import { clone, create } from "@bufbuild/protobuf";
import { RelationSchema, RelationType } from "@gen/flyteidl2/common/run_pb.js";
import { InputsSchema } from "@gen/flyteidl2/task/common_pb.js";
import { RecoverSchema, RunSpecSchema, type RunSpec } from "@gen/flyteidl2/task/run_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import type { RunName } from "@/entities/run/kind";
import { optionsOf, runSpecOf } from "./options";
import { sourceOfRun, type Source } from "./source";
import { Names, submit } from "./submit";

/** The variable that deployed tasks have in their own spec; it must not be set twice. */
const path = "_F_SYS_PATH";

const hasPath = ({ taskTemplate }: TaskSpec): boolean =>
  taskTemplate?.target.case === "container" && taskTemplate.target.value.env.some(({ key }) => key === path);

/** The spec of a rerun or recovery of a run. */
export function relatedSpec(spec: RunSpec, source: Source, type: RelationType, force: readonly string[] = []): RunSpec {
  const result = clone(RunSpecSchema, spec);
  const { project, domain, name } = source.run;
  result.relation = create(RelationSchema, { relatedTo: { project, domain, name }, relationType: type });
  if (force.length > 0) result.recover = create(RecoverSchema, { forceRerunActions: [...force] });
  if (result.envs && hasPath(source.spec)) result.envs.values = result.envs.values.filter(({ key }) => key !== path);
  return result;
}

/** Reruns a run without changes, and returns the new run. With the same names a retry sends the same request. */
export async function rerunRun(run: RunName, names: Names = new Names()): Promise<RunName> {
  return start(await sourceOfRun(run), RelationType.RERUN, [], names);
}

/** Creates a run that reuses the succeeded actions of another, except those that are forced to rerun. */
export async function recoverRun(run: RunName, force: readonly string[], names: Names): Promise<RunName> {
  return start(await sourceOfRun(run), RelationType.RECOVER, force, names);
}

function start(source: Source, type: RelationType, force: readonly string[], names: Names): Promise<RunName> {
  const runSpec = relatedSpec(runSpecOf(optionsOf(source.runSpec), source.runSpec), source, type, force);
  return submit(
    {
      place: { project: source.run.project, domain: source.run.domain },
      name: "",
      task: { case: "taskSpec", value: source.spec },
      inputs: source.inputs ?? create(InputsSchema),
      runSpec,
    },
    names,
  );
}
