import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { VariableEntry } from "@gen/flyteidl2/core/interface_pb.js";
import type { Literal } from "@gen/flyteidl2/core/literals_pb.js";
import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import { TranslatorService } from "@gen/flyteidl2/workflow/translator_service_pb.js";
import { client } from "@/api/transport";
import { t } from "@/texts/texts";
import { check } from "./check";
import { draftOf, same, unset, valueOf, type Draft, type Errors } from "./draft";
import { fieldOf, isObject, type Field } from "./field";
import { shown } from "./shown";

/** An input of a task, as a form asks for it. */
export interface Input {
  readonly name: string;
  readonly about: string;
  readonly variable: VariableEntry;
  readonly schema: JsonObject;
  readonly field: Field;
  /** The initial value: that of the source run, or the default of the task. */
  readonly given: Given | undefined;
}

export interface Given {
  readonly literal: Literal;
  /** Undefined if it has no JSON form: then it is kept unchanged. */
  readonly json: JsonValue | undefined;
}

/** Loads the inputs of a task, with the literals of a source run or the defaults of the task. */
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
  // A value without a form must not hide the others.
  const schemas =
    properties ??
    Object.fromEntries((await Promise.all(variables.map((variable) => translateOne(variable, literals, signal)))).flatMap(Object.entries<JsonValue>));
  return variables.map((variable) => inputOf(variable, object(schemas[variable.key]), literals.get(variable.key)));
}

function inputOf(variable: VariableEntry, schema: JsonObject, literal: Literal | undefined): Input {
  const field: Field = schema["type"] === undefined && schema["oneOf"] === undefined && schema["$ref"] === undefined ? { kind: "opaque" } : fieldOf(schema);
  const json = field.kind === "opaque" || schema["default"] === undefined ? undefined : shown(schema["default"]);
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
  const { json } = await client(TranslatorService).literalsToLaunchFormJson(
    { literals: named, variables: { variables: [...variables] } },
    signal ? { signal } : {},
  );
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

/** The drafts of inputs by name. */
export type Drafts = Readonly<Record<string, Draft>>;

export const initialDrafts = (inputs: readonly Input[]): Drafts =>
  Object.fromEntries(inputs.map((input) => [input.name, draftOf(input.field, input.given?.json)]));

/** The valid values of inputs, and the errors. */
export interface Values {
  readonly values: Readonly<Record<string, JsonValue>>;
  readonly errors: Errors;
}

/** Whether an input keeps a value that the form cannot show. */
export const isKept = (input: Input): boolean => input.given !== undefined && input.given.json === undefined;

/** Reads the drafts and validates them against the schemas. */
export function readInputs(inputs: readonly Input[], drafts: Drafts, zone: string | undefined): Values {
  const errors: Errors = new Map();
  const values: Record<string, JsonValue> = {};
  for (const input of inputs) {
    const { name, field, schema } = input;
    const draft = drafts[name] ?? unset;
    if (isKept(input) && draft.kind === "unset") continue;
    if (field.kind === "opaque") {
      errors.set(name, "Values of this type can only be set from Python: use the CLI or SDK.");
      continue;
    }
    const before = errors.size;
    const value = valueOf(field, draft, name, { zone, errors });
    if (errors.size > before) continue;
    if (value === undefined) {
      errors.set(name, "Enter a value.");
      continue;
    }
    check(schema, value, name, errors);
    values[name] = value;
  }
  return { values, errors };
}

/** The names of inputs whose values differ from the initial ones. */
export const changed = (inputs: readonly Input[], values: Readonly<Record<string, JsonValue>>): readonly string[] =>
  inputs.filter(({ name, given }) => name in values && !(given?.json !== undefined && same(given.json, values[name]))).map(({ name }) => name);

/** The inputs as JSON text. Invalid inputs are left out. */
export function sourceOf(inputs: readonly Input[], drafts: Drafts, zone: string | undefined): string {
  const { values } = readInputs(inputs, drafts, zone);
  return JSON.stringify(values, null, 2);
}

/** Parses such a text. */
export function draftsOf(inputs: readonly Input[], text: string): { readonly drafts: Drafts } | { readonly error: string } {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === "" ? "{}" : text);
  } catch (error) {
    return { error: t("Invalid JSON: {message}", { message: error instanceof Error ? error.message : "" }) };
  }
  if (!isObject(value)) return { error: t("Enter a JSON object with a value for each input.") };
  const unknown = Object.keys(value).filter((name) => !inputs.some((input) => input.name === name));
  if (unknown.length > 0)
    return { error: t("Unknown input {unknown}. The inputs are {inputs}.", { unknown: unknown.map((name) => JSON.stringify(name)).join(", "), inputs: inputs.map(({ name }) => name).join(", ") }) };
  const object = value;
  return { drafts: Object.fromEntries(inputs.map(({ name, field }) => [name, object[name] === undefined ? unset : draftOf(field, object[name])])) };
}
