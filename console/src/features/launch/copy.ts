import { create, toJson } from "@bufbuild/protobuf";
import type { Inputs } from "@gen/flyteidl2/task/common_pb.js";
import type { RunSpec } from "@gen/flyteidl2/task/run_pb.js";
import { CreateRunRequestSchema } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Place } from "@/app/place";
import { shellWord } from "@/app/shell-word";
import { asCliRerun, asPythonRerun, optionOf, pythonArguments, withImports, type Values } from "@/entities/action/copy-as";
import { pythonText } from "@/entities/value/write-python";
import type { Options } from "./options";
import type { Source } from "./source";
import type { Task } from "./submit";

/** A run to launch, for commands and programs. */
export interface Wanted {
  readonly place: Place;
  readonly task: Task;
  readonly values: Values;
  readonly options: Options;
  /** The run to rerun. */
  readonly source?: Source | undefined;
  /** The inputs that the command does not accept. */
  readonly enums: ReadonlySet<string>;
}

/** A command that launches the run. */
export function asCommand({ place, task, values, options, source, enums }: Wanted): string {
  if (source) return asCliRerun({ run: source.run, name: source.action }, values, enums);
  if (task.case !== "taskId") return "";
  const words = ["flyte run", `--project ${shellWord(place.project)}`, `--domain ${shellWord(place.domain)}`];
  if (options.name.trim()) words.push(`--name ${shellWord(options.name.trim())}`);
  for (const [key, value] of options.env) if (key.trim()) words.push(`--env ${shellWord(`${key.trim()}=${value}`)}`);
  for (const [key, value] of options.labels) if (key.trim()) words.push(`--label ${shellWord(`${key.trim()}=${value}`)}`);
  if (options.queue.trim()) words.push(`--queue ${shellWord(options.queue.trim())}`);
  if (options.concurrency.trim()) words.push(`--max-action-concurrency ${shellWord(options.concurrency.trim())}`);
  if (options.serviceAccount.trim()) words.push(`--service-account ${shellWord(options.serviceAccount.trim())}`);
  if (options.rawData.trim()) words.push(`--raw-data-path ${shellWord(options.rawData.trim())}`);
  words.push(`deployed-task ${shellWord(`${task.value.name ?? ""}:${task.value.version ?? ""}`)}`);
  for (const [key, value] of values) {
    const option = enums.has(key) ? undefined : optionOf(key, value);
    if (option !== undefined) words.push(option);
  }
  return words.join(words.length > 4 ? " \\\n  " : " ");
}

/** A Python program that launches it. */
export function asProgram({ place, task, values, options, source }: Wanted): string {
  if (source) return asPythonRerun({ run: source.run, name: source.action }, values);
  if (task.case !== "taskId") return "";
  const { imports, lines, kept } = pythonArguments(values);
  const context: string[] = [];
  const pairs = (all: Options["env"]) =>
    `{${all
      .filter(([key]) => key.trim())
      .map(([key, value]) => `${pythonText(key.trim())}: ${pythonText(value)}`)
      .join(", ")}}`;
  if (options.name.trim()) context.push(`name=${pythonText(options.name.trim())}`);
  if (options.env.length > 0) context.push(`env_vars=${pairs(options.env)}`);
  if (options.labels.length > 0) context.push(`labels=${pairs(options.labels)}`);
  return withImports(
    [...new Set([...imports, "import flyte", "import flyte.remote"])].sort(),
    [
      `flyte.init_from_config(project=${pythonText(place.project)}, domain=${pythonText(place.domain)})`,
      `task = flyte.remote.Task.get(${pythonText(task.value.name ?? "")}, version=${pythonText(task.value.version ?? "")})`,
      ...(kept.length > 0 ? [`# Fill in, with your own classes: ${kept.join(", ")}`] : []),
      `run = flyte${context.length > 0 ? `.with_runcontext(${context.join(", ")})` : ""}.run(\n${["task", ...lines].map((line) => `    ${line},\n`).join("")})`,
      "print(run.url)",
    ].join("\n"),
  );
}

/** A curl command that launches it. */
export function asCall(place: Place, task: Task, inputs: Inputs, runSpec: RunSpec, name: string, origin: string): string {
  const request = create(CreateRunRequestSchema, {
    id: name ? { case: "runId", value: { ...place, name } } : { case: "projectId", value: { name: place.project, domain: place.domain } },
    task,
    inputWrapper: { case: "inputs", value: inputs },
    runSpec,
  });
  return [
    "curl -sS -X POST",
    shellWord(`${origin}/flyteidl2.workflow.RunService/CreateRun`),
    "-H 'content-type: application/json'",
    `-d ${shellWord(JSON.stringify(toJson(CreateRunRequestSchema, request)))}`,
  ].join(" \\\n  ");
}
