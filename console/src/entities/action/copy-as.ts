import { shellWord } from "@/app/shell-word";
import type { ActionName } from "./name";
import { json, secondsText } from "@/entities/value/write-json";
import { python, pythonText } from "@/entities/value/write-python";
import type { Value } from "@/entities/value/value-type";

/** Named values, in the order of the interface. */
export type Values = readonly (readonly [string, Value])[];

/** The values as Python source. */
export function asPython(values: Values): string {
  const { source, imports } = python({ kind: "map", struct: true, entries: values });
  return withImports(imports, source);
}

/** A Python program that reads the inputs or outputs of an action. */
export function asPythonRead({ run, name }: ActionName, what: "inputs" | "outputs"): string {
  const start = `flyte.init_from_config(project=${pythonText(run.project)}, domain=${pythonText(run.domain)})`;
  if (name === root) {
    return withImports(["import flyte", "import flyte.remote"], `${start}\nprint(flyte.remote.Run.get(${pythonText(run.name)}).${what}())`);
  }
  // Run.get reads the root action only; others need the asynchronous call.
  return withImports(
    ["import asyncio", "import flyte", "import flyte.remote"],
    [
      "async def main():",
      `    action = await flyte.remote.ActionDetails.get.aio(run_name=${pythonText(run.name)}, name=${pythonText(name)})`,
      `    print(await action.${what}())`,
      "",
      start,
      "asyncio.run(main())",
    ].join("\n"),
  );
}

/** A Python program that reruns an action with editable inputs. Structures keep their values. */
export function asPythonRerun({ run, name }: ActionName, inputs: Values): string {
  const given = pythonArguments(inputs);
  const { kept } = given;
  const lines = [pythonText(run.name), ...(name === root ? [] : [`action_name=${pythonText(name)}`]), ...given.lines];
  return withImports(
    [...new Set(["import flyte", ...given.imports])].sort(),
    [
      `flyte.init_from_config(project=${pythonText(run.project)}, domain=${pythonText(run.domain)})`,
      ...(kept.length > 0 ? [`# These inputs keep their values: ${kept.join(", ")}`] : []),
      `run = flyte.rerun(\n${lines.map((line) => `    ${line},\n`).join("")})`,
      "print(run.url)",
    ].join("\n"),
  );
}

/** Inputs as arguments of a Python call, with the names of those that cannot be written as arguments. */
export function pythonArguments(inputs: Values): { readonly lines: readonly string[]; readonly imports: readonly string[]; readonly kept: readonly string[] } {
  const imports = new Set<string>();
  const lines: string[] = [];
  const kept: string[] = [];
  for (const [key, value] of inputs) {
    if (!/^[A-Za-z_]\w*$/.test(key) || reserved.has(key) || !isPlain(value)) {
      kept.push(key);
      continue;
    }
    const { source, imports: needed } = python(value);
    for (const line of needed) imports.add(line);
    lines.push(`${key}=${source.replaceAll("\n", "\n    ")}`);
  }
  return { lines, imports: [...imports], kept };
}

/** A command that shows the inputs and outputs of an action. */
export const asCli = ({ run, name }: ActionName): string =>
  `flyte get io --project ${shellWord(run.project)} --domain ${shellWord(run.domain)} ${shellWord(run.name)} ${shellWord(name)}`;

/** A command that reruns an action with editable inputs. Inputs that have no option keep their values, such as enums, which the current client misreads. */
export function asCliRerun({ run, name }: ActionName, inputs: Values, enums: ReadonlySet<string> = new Set()): string {
  const words = ["flyte rerun", `--project ${shellWord(run.project)}`, `--domain ${shellWord(run.domain)}`];
  if (name !== root) words.push(`--action-name ${shellWord(name)}`);
  words.push(shellWord(run.name)); // options after the name are inputs
  for (const [key, value] of inputs) {
    const option = /^[a-z_][a-z0-9_]*$/.test(key) && !reserved.has(key) && !options.has(key) && !enums.has(key) ? optionOf(key, value) : undefined;
    if (option !== undefined) words.push(option);
  }
  return words.join(words.length > 4 ? " \\\n  " : " ");
}

/** A curl command that reads them from the API. */
export function asCurl({ run, name }: ActionName, origin: string): string {
  const request = { actionId: { run: { project: run.project, domain: run.domain, name: run.name }, name } };
  return [
    "curl -sS -X POST",
    shellWord(`${origin}/flyteidl2.dataproxy.DataProxyService/GetActionData`),
    "-H 'content-type: application/json'",
    `-d ${shellWord(JSON.stringify(request))}`,
  ].join(" \\\n  ");
}

/** The name that the SDK gives to every root action. */
const root = "a0";
/** Parameters of flyte.rerun itself: an input of such a name cannot be passed. */
const reserved = new Set(["run_name", "action_name", "recover", "force_rerun_actions", "allow_missing_source_outputs"]);
/** Options of the command itself. */
const options = new Set(["project", "domain", "name", "env", "label", "follow", "help"]);

/** Whether a value can be written without its class: a dataclass would need an import that is unknown here. */
function isPlain(value: Value): boolean {
  switch (value.kind) {
    case "bytes":
    case "error":
      return false;
    case "stored":
      return value.what !== "pickle" && value.what !== "value";
    case "list":
      return value.items.every(isPlain);
    case "map":
      return !value.struct && value.entries.every(([, one]) => isPlain(one));
    default:
      return true;
  }
}

/** An input as a command option; undefined if it has no such form. */
export function optionOf(key: string, value: Value): string | undefined {
  const word = wordOf(value);
  if (value.kind === "boolean") return value.value ? `--${key}` : `--no-${key}`;
  if (word === undefined) return undefined;
  // A word that starts with a dash would be parsed as an option.
  return word.startsWith("-") ? `--${key}=${shellWord(word)}` : `--${key} ${shellWord(word)}`;
}

function wordOf(value: Value): string | undefined {
  switch (value.kind) {
    case "text":
      return value.text;
    case "number":
      return value.digits;
    case "time": // the only form in which the command reads the zone
      return value.iso.replace("T", " ").replace("Z", "+00:00");
    case "duration":
      return Number.isInteger(value.seconds) && value.seconds >= 0 ? `PT${secondsText(value.seconds)}S` : undefined;
    case "stored":
      return isPlain(value) ? value.uri : undefined;
    case "list":
    case "map":
      return json(value, 0);
    default:
      return undefined;
  }
}

export const withImports = (imports: readonly string[], source: string): string =>
  imports.length > 0 ? `${imports.join("\n")}\n\n${source}\n` : `${source}\n`;
