import { create, toJsonString, type MessageInitShape } from "@bufbuild/protobuf";
import { DataProxyService, type UploadInputsRequestSchema } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { Inputs } from "@gen/flyteidl2/task/common_pb.js";
import type { RunSpec } from "@gen/flyteidl2/task/run_pb.js";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { CreateRunRequestSchema, RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import type { RunName } from "@/features/run/model/use-run-model";
import { newRunName } from "./run-name";

/** A run that is to be made. */
export interface Launch {
  readonly place: Place;
  /** Empty for one that is made. */
  readonly name: string;
  readonly task: Task;
  readonly inputs: Inputs;
  readonly runSpec: RunSpec;
}

type Init = MessageInitShape<typeof UploadInputsRequestSchema>["task"];
export type Task = Extract<NonNullable<Init>, { case: "taskId" | "taskSpec" }>;

/**
 * The names of runs that were asked for. The same request gets the same name again, so that one that was sent twice, because nobody
 * knows whether the first arrived, makes one run.
 */
export class Names {
  #content = "";
  #name = "";

  for(content: string): string {
    if (content !== this.#content) {
      this.#content = content;
      this.#name = newRunName();
    }
    return this.#name;
  }
}

/** Stores the inputs, makes the run, and says its name. */
export async function submit({ place, name, task, inputs, runSpec }: Launch, names: Names): Promise<RunName> {
  const { offloadedInputData } = await client(DataProxyService).uploadInputs({
    id: { case: "projectId", value: { name: place.project, domain: place.domain } },
    task,
    inputs,
    baseDir: runSpec.runBaseDir,
  });
  if (!offloadedInputData) throw new Error("The server did not say where it stored the inputs");
  const request = create(CreateRunRequestSchema, { task, inputWrapper: { case: "offloadedInputData", value: offloadedInputData }, runSpec, source: RunSource.WEB });
  const chosen = name || names.for(`${place.project}/${place.domain} ${toJsonString(CreateRunRequestSchema, request)}`);
  request.id = create(CreateRunRequestSchema, { id: { case: "runId", value: { ...place, name: chosen } } }).id;
  const { run } = await client(RunService).createRun(request);
  const id = run?.action?.id?.run;
  return { ...place, name: id?.name || chosen };
}
