import { create, toJsonString, type MessageInitShape } from "@bufbuild/protobuf";
import { DataProxyService, type UploadInputsRequestSchema } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { Inputs } from "@gen/flyteidl2/task/common_pb.js";
import type { RunSpec } from "@gen/flyteidl2/task/run_pb.js";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { CreateRunRequestSchema, RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import type { RunName } from "@/entities/run/kind";
import { newRunName } from "./run-name";

/** A run to create. */
export interface Launch {
  readonly place: Place;
  /** Empty to generate one. */
  readonly name: string;
  readonly task: Task;
  readonly inputs: Inputs;
  readonly runSpec: RunSpec;
}

type Init = MessageInitShape<typeof UploadInputsRequestSchema>["task"];
export type Task = Extract<NonNullable<Init>, { case: "taskId" | "taskSpec" }>;

/**
 * Generates run names. The same request gets the same name, so that a retry after a lost response does not create a second run.
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

/** Uploads the inputs and creates the run. */
export async function submit({ place, name, task, inputs, runSpec }: Launch, names: Names): Promise<RunName> {
  const { offloadedInputData } = await client(DataProxyService).uploadInputs({
    id: { case: "projectId", value: { name: place.project, domain: place.domain } },
    task,
    inputs,
    baseDir: runSpec.runBaseDir,
  });
  if (!offloadedInputData) throw new Error("The server returned no location of the inputs. Check the server log.");
  const request = create(CreateRunRequestSchema, {
    task,
    inputWrapper: { case: "offloadedInputData", value: offloadedInputData },
    runSpec,
    source: RunSource.WEB,
  });
  const chosen = name || names.for(`${place.project}/${place.domain} ${toJsonString(CreateRunRequestSchema, request)}`);
  request.id = create(CreateRunRequestSchema, { id: { case: "runId", value: { ...place, name: chosen } } }).id;
  const { run } = await client(RunService).createRun(request);
  const id = run?.action?.id?.run;
  return { ...place, name: id?.name || chosen };
}
