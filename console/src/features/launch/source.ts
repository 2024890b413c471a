import { clone, create } from "@bufbuild/protobuf";
import { LiteralSchema } from "@gen/flyteidl2/core/literals_pb.js";
import { InputsSchema, NamedLiteralSchema, type Inputs } from "@gen/flyteidl2/task/common_pb.js";
import type { RunSpec } from "@gen/flyteidl2/task/run_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { client } from "@/api/transport";
import type { RunName } from "@/entities/run/kind";

/** The specs and inputs of a run or action, as needed for a rerun. */
export interface Source {
  readonly run: RunName;
  readonly action: string;
  readonly spec: TaskSpec;
  readonly runSpec: RunSpec | undefined;
  readonly inputs: Inputs | undefined;
}

/** Reads the source of an action, by default the root action. */
export async function sourceOfRun(run: RunName, action = "a0", signal?: AbortSignal): Promise<Source> {
  const runId = { project: run.project, domain: run.domain, name: run.name };
  const actionId = { run: runId, name: action };
  const options = signal ? { signal } : {};
  const [details, one, data] = await Promise.all([
    client(RunService).getRunDetails({ runId }, options),
    action === "a0" ? undefined : client(RunService).getActionDetails({ actionId }, options),
    client(DataProxyService).getActionData({ actionId }, options),
  ]);
  const ran = one ? one.details : details.details?.action;
  if (ran?.spec.case !== "task") throw new Error(`Action ${action} of run ${run.name} is not a task and cannot be rerun alone.`);
  return { run, action, spec: ran.spec.value, runSpec: details.details?.runSpec, inputs: data.inputs };
}

/** The key in the context of the inputs whose value is the name of the input that receives the start time of the run. */
const kickoff = "_u_kickoff_time_input_arg";

/**
 * Prepares a source for a form. A scheduled run gets its start time as an input. The form shows this time as a value and removes
 * the entry from the context, because the entry would override a value that the user enters.
 */
export function withStartTime(source: Source): Source {
  const name = source.inputs?.context.find(({ key }) => key === kickoff)?.value;
  const at = source.runSpec?.runStartTime;
  if (!source.inputs || !name || !at) return source;
  const inputs = clone(InputsSchema, source.inputs);
  inputs.context = inputs.context.filter(({ key }) => key !== kickoff);
  const value = create(LiteralSchema, {
    value: { case: "scalar", value: { value: { case: "primitive", value: { value: { case: "datetime", value: at } } } } },
  });
  inputs.literals = [...inputs.literals.filter((literal) => literal.name !== name), create(NamedLiteralSchema, { name, value })];
  return { ...source, inputs };
}
