import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { VariableEntry } from "@gen/flyteidl2/core/interface_pb.js";
import type { Literal } from "@gen/flyteidl2/core/literals_pb.js";
import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import { TranslatorService } from "@gen/flyteidl2/workflow/translator_service_pb.js";
import { client } from "@/api/transport";
import { check } from "./check";
import { draftOf, same, unset, valueOf, type Draft, type Errors } from "./draft";
import { fieldOf, isObject, type Field } from "./field";

/** An input of a task, as a form asks for it. */
export interface Input {
  readonly name: string;
  readonly about: string;
  readonly variable: VariableEntry;
  readonly schema: JsonObject;
  readonly field: Field;
  /** What it is unless somebody changes it: the source's value, or the task's default. */
  readonly given: Given | undefined;
}

export interface Given {
  readonly literal: Literal;
  /** Undefined when it cannot be written as JSON: then it stays what it is. */
  readonly json: JsonValue | undefined;
}

/** Makes the inputs of a task, filled with the literals of a source and else with the task's defaults. */
export async function loadInputs(spec: TaskSpec, source: readonly NamedLiteral[], signal?: AbortSignal): Promise<readonly Input[]> {
  const variables = spec.taskTemplate?.interface?.inputs?.variables ?? [];
  const literals = new Map<string, Literal>();
  for (const { name, parameter } of spec.defaultInputs) if (parameter?.behavior.case === "default") literals.set(name, parameter.behavior.value);
  for (const { name, value } of source) if (value) literals.set(name, value);
  if (variables.length === 0) return [];
  let properties: JsonObject | undefined;
  try {
    properties = await translate(variables, literals, signal);
  } catch (error) {
    if (!isUntranslatable(error)) throw error;
  }
  // One value that has no form must not hide the others.
  const schemas = properties ?? Object.fromEntries((await Promise.all(variables.map((variable) => translateOne(variable, literals, signal)))).flatMap(Object.entries<JsonValue>));
  return variables.map((variable) => inputOf(variable, object(schemas[variable.key]), literals.get(variable.key)));
}

function inputOf(variable: VariableEntry, schema: JsonObject, literal: Literal | undefined): Input {
  const field: Field = schema["type"] === undefined && schema["oneOf"] === undefined && schema["$ref"] === undefined ? { kind: "opaque" } : fieldOf(schema);
  const json = field.kind === "opaque" || !("default" in schema) ? undefined : schema["default"];
  return { name: variable.key, about: variable.value?.description ?? "", variable, schema, field, given: literal && { literal, json } };
}

const isUntranslatable = (error: unknown): boolean => {
  const { code } = ConnectError.from(error);
  return code === Code.InvalidArgument || code === Code.Unimplemented;
};

async function translate(variables: readonly VariableEntry[], literals: ReadonlyMap<string, Literal>, signal: AbortSignal | undefined): Promise<JsonObject> {
  const named = variables.flatMap(({ key }) => {
    const value = literals.get(key);
    return value ? [{ name: key, value }] : [];
  });
  const { json } = await client(TranslatorService).literalsToLaunchFormJson({ literals: named, variables: { variables: [...variables] } }, signal ? { signal } : {});
  return object(json?.["properties"]);
}

async function translateOne(variable: VariableEntry, literals: ReadonlyMap<string, Literal>, signal: AbortSignal | undefined): Promise<JsonObject> {
  for (const known of [literals, new Map<string, Literal>()]) {
    try {
      return await translate([variable], known, signal);
    } catch (error) {
      if (!isUntranslatable(error)) throw error;
    }
  }
  return {};
}

const object = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

/** What has been put into the inputs, by name. */
export type Drafts = Readonly<Record<string, Draft>>;

export const initialDrafts = (inputs: readonly Input[]): Drafts => Object.fromEntries(inputs.map((input) => [input.name, draftOf(input.field, input.given?.json)]));

/** The values of inputs, as far as they are right. */
export interface Values {
  readonly values: Readonly<Record<string, JsonValue>>;
  readonly errors: Errors;
}

/** Whether an input keeps a value that no form can show. */
export const isKept = (input: Input): boolean => input.given !== undefined && input.given.json === undefined;

/** Reads what was put in, and holds it against the schemas. */
export function readInputs(inputs: readonly Input[], drafts: Drafts, zone: string | undefined): Values {
  const errors: Errors = new Map();
  const values: Record<string, JsonValue> = {};
  for (const input of inputs) {
    const { name, field, schema } = input;
    const draft = drafts[name] ?? unset;
    if (isKept(input) && draft.kind === "unset") continue;
    if (field.kind === "opaque") {
      errors.set(name, "Only Python can make a value of this type: start the task with the command line.");
      continue;
    }
    const before = errors.size;
    const value = valueOf(field, draft, name, { zone, errors });
    if (errors.size > before) continue;
    if (value === undefined) {
      errors.set(name, "A value is needed.");
      continue;
    }
    check(schema, value, name, errors);
    values[name] = value;
  }
  return { values, errors };
}

/** The names of inputs whose values are no longer those that were given. */
export const changed = (inputs: readonly Input[], values: Readonly<Record<string, JsonValue>>): readonly string[] =>
  inputs.filter(({ name, given }) => name in values && !(given?.json !== undefined && same(given.json, values[name]))).map(({ name }) => name);

/** The inputs as the text of one JSON object. What is not right yet is left out. */
export function sourceOf(inputs: readonly Input[], drafts: Drafts, zone: string | undefined): string {
  const { values } = readInputs(inputs, drafts, zone);
  return JSON.stringify(values, null, 2);
}

/** Reads such a text. */
export function draftsOf(inputs: readonly Input[], text: string): { readonly drafts: Drafts } | { readonly error: string } {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === "" ? "{}" : text);
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : ""}` };
  }
  if (!isObject(value)) return { error: "This has to be a JSON object with a value for each input." };
  const unknown = Object.keys(value).filter((name) => !inputs.some((input) => input.name === name));
  if (unknown.length > 0) return { error: `There is no input ${unknown.map((name) => JSON.stringify(name)).join(", ")}. The inputs are ${inputs.map(({ name }) => name).join(", ")}.` };
  const object = value;
  return { drafts: Object.fromEntries(inputs.map(({ name, field }) => [name, object[name] === undefined ? unset : draftOf(field, object[name])])) };
}
