import type { ActionName } from "./use-action";
import { json, secondsText } from "./io/write-json";
import { python, pythonText } from "./io/write-python";
import type { Value } from "./io/value";

/** Named values, in the order of the interface. */
export type Values = readonly (readonly [string, Value])[];

/** A word as shells for Unix read it. */
export const shellWord = (word: string): string => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The values as Python source. */
export function asPython(values: Values): string {
  const { source, imports } = python({ kind: "map", struct: true, entries: values });
  return withImports(imports, source);
}

/** A program in Python that reads what an action took or made. */
export function asPythonRead({ run, name }: ActionName, what: "inputs" | "outputs"): string {
  const start = `flyte.init_from_config(project=${pythonText(run.project)}, domain=${pythonText(run.domain)})`;
  if (name === root) {
    return withImports(["import flyte", "import flyte.remote"], `${start}\nprint(flyte.remote.Run.get(${pythonText(run.name)}).${what}())`);
  }
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

/** A program in Python that runs an action again with its inputs, ready to be edited. Structures keep their values. */
export function asPythonRerun({ run, name }: ActionName, inputs: Values): string {
  const given = pythonArguments(inputs);
  const { kept } = given;
  const lines = [pythonText(run.name), ...(name === root ? [] : [`action_name=${pythonText(name)}`]), ...given.lines];
  return withImports(
    [...new Set(["import flyte", ...given.imports])].sort(),
    [
      `flyte.init_from_config(project=${pythonText(run.project)}, domain=${pythonText(run.domain)})`,
      ...(kept.length > 0 ? [`# Inputs that are left out keep their values: ${kept.join(", ")}`] : []),
      `run = flyte.rerun(\n${lines.map((line) => `    ${line},\n`).join("")})`,
      "print(run.url)",
    ].join("\n"),
  );
}

/** Inputs as arguments of a call in Python, and the names of those that cannot be given so. */
export function pythonArguments(inputs: Values): { readonly lines: readonly string[]; readonly imports: readonly string[]; readonly kept: readonly string[] } {
  const imports = new Set<string>();
  const lines: string[] = [];
  const kept: string[] = [];
  for (const [key, value] of inputs) {
    if (!/^[A-Za-z_]\w*$/.test(key) || taken.has(key) || !isPlain(value)) {
      kept.push(key);
      continue;
    }
    const { source, imports: needed } = python(value);
    for (const line of needed) imports.add(line);
    lines.push(`${key}=${source.replaceAll("\n", "\n    ")}`);
  }
  return { lines, imports: [...imports], kept };
}

/** A command that shows what an action took and made. */
export const asCli = ({ run, name }: ActionName): string =>
  `flyte get io --project ${shellWord(run.project)} --domain ${shellWord(run.domain)} ${shellWord(run.name)} ${shellWord(name)}`;

/** A command that runs an action again with its inputs, ready to be edited. What no command can say keeps its value, such as enumerations, which the client of today takes for others. */
export function asCliRerun({ run, name }: ActionName, inputs: Values, enums: ReadonlySet<string> = new Set()): string {
  const words = ["flyte rerun", `--project ${shellWord(run.project)}`, `--domain ${shellWord(run.domain)}`];
  if (name !== root) words.push(`--action-name ${shellWord(name)}`);
  words.push(shellWord(run.name)); // the command takes what comes before it for options of its own
  for (const [key, value] of inputs) {
    const option = /^[a-z_][a-z0-9_]*$/.test(key) && !taken.has(key) && !options.has(key) && !enums.has(key) ? optionOf(key, value) : undefined;
    if (option !== undefined) words.push(option);
  }
  return words.join(words.length > 4 ? " \\\n  " : " ");
}

/** A command that reads the same from the API. */
export function asCurl({ run, name }: ActionName, origin: string): string {
  const request = { actionId: { run: { project: run.project, domain: run.domain, name: run.name }, name } };
  return [
    "curl -sS -X POST",
    shellWord(`${origin}/flyteidl2.dataproxy.DataProxyService/GetActionData`),
    "-H 'content-type: application/json'",
    `-d ${shellWord(JSON.stringify(request))}`,
  ].join(" \\\n  ");
}

/** The name of the action that is the run itself. */
const root = "a0";
/** Names that calls and commands need for themselves. */
const taken = new Set(["run_name", "action_name", "recover", "force_rerun_actions", "allow_missing_source_outputs"]);
const options = new Set(["project", "domain", "name", "env", "label", "follow", "help"]);

/** Whether it can be given as it is, without the class that it is of. */
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

/** An input as an option of a command; undefined when no command can say it. */
export function optionOf(key: string, value: Value): string | undefined {
  const word = wordOf(value);
  if (value.kind === "boolean") return value.value ? `--${key}` : `--no-${key}`;
  if (word === undefined) return undefined;
  // A word that begins with a dash would be taken for an option.
  return word.startsWith("-") ? `--${key}=${shellWord(word)}` : `--${key} ${shellWord(word)}`;
}

function wordOf(value: Value): string | undefined {
  switch (value.kind) {
    case "text":
      return value.text;
    case "number":
      return value.digits;
    case "time": // in the only form whose zone the command understands
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

export const withImports = (imports: readonly string[], source: string): string => (imports.length > 0 ? `${imports.join("\n")}\n\n${source}\n` : `${source}\n`);
