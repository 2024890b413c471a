import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { t } from "@/texts/texts";

/** A field of a form, derived from the JSON schema of a type. */
export type Field =
  | { readonly kind: "none" | "integer" | "number" | "flag" | "bytes" }
  | { readonly kind: "text"; readonly format: string }
  | { readonly kind: "time"; readonly format: TimeFormat }
  | { readonly kind: "span"; readonly format: SpanFormat }
  | { readonly kind: "enum"; readonly values: readonly JsonValue[] }
  | { readonly kind: "list"; readonly item: Field }
  | { readonly kind: "map"; readonly value: Field }
  | { readonly kind: "struct"; readonly title: string; readonly parts: readonly Part[] }
  | { readonly kind: "file"; readonly folder: boolean; readonly format: string }
  | { readonly kind: "table"; readonly format: string }
  | { readonly kind: "choice"; readonly variants: readonly Variant[] }
  /** Anything, as JSON. */
  | { readonly kind: "json"; readonly object: boolean }
  /** A value that a form cannot edit: only Python can create it. */
  | { readonly kind: "opaque" };

/** A time, or a date inside a dataclass. */
export type TimeFormat = "moment" | "date";
/** Seconds as text for inputs of their own, as number or in ISO 8601 within dataclasses. */
export type SpanFormat = "text" | "seconds" | "iso";

export interface Variant {
  readonly title: string;
  readonly field: Field;
  /** The index of the variant in the type; variants that cannot be edited are left out. */
  readonly at: number;
}

/** A named part of a structure. */
export interface Part {
  readonly name: string;
  readonly about: string;
  readonly required: boolean;
  readonly field: Field;
  readonly initial: JsonValue | undefined;
}

type Schema = JsonObject;

interface Context {
  readonly root: Schema;
  /** Whether it is inside a dataclass, which has formats of its own. */
  readonly inside: boolean;
  readonly refs: readonly string[];
}

/** The field of a property of a launch form. */
export const fieldOf = (schema: Schema): Field => field(schema, { root: schema, inside: false, refs: [] });

function field(given: Schema, before: Context): Field {
  let schema = given;
  let context = before;
  const ref = text(schema, "$ref");
  if (ref !== "") {
    // A recursive type is edited as JSON below its second level.
    if (context.refs.filter((known) => known === ref).length > 1) return { kind: "json", object: true };
    const target = lookUp(context.root, ref);
    if (!target) return { kind: "json", object: false };
    schema = { ...target, ...omit(schema, "$ref") };
    context = { ...context, inside: true, refs: [...context.refs, ref] };
  }
  const all = list(schema, "allOf");
  if (all.length === 1) return field({ ...omit(schema, "allOf"), ...object(all[0]) }, context);
  if (schema["const"] !== undefined) return { kind: "enum", values: [schema["const"]] };
  const values = list(schema, "enum");
  if (values.length > 0) return { kind: "enum", values };
  const variants = [...list(schema, "oneOf"), ...list(schema, "anyOf")];
  if (variants.length > 0) return choice(variants.map(object), context);
  if (Array.isArray(schema["type"])) {
    return choice(
      schema["type"].map((type) => ({ ...schema, type })),
      context,
    );
  }
  return plain(schema, context);
}

function plain(schema: Schema, context: Context): Field {
  switch (text(schema, "type")) {
    case "null":
      return { kind: "none" };
    case "integer":
      return { kind: "integer" };
    case "number":
      return text(schema, "format") === "time-delta" ? { kind: "span", format: "seconds" } : { kind: "number" };
    case "boolean":
      return { kind: "flag" };
    case "string":
      return stringField(text(schema, "format"), context);
    case "array": {
      const items = schema["items"];
      return isObject(items) ? { kind: "list", item: field(items, context) } : { kind: "json", object: false };
    }
    case "object":
      return objectField(schema, context);
    default:
      return { kind: "json", object: false };
  }
}

function stringField(format: string, { inside }: Context): Field {
  switch (format) {
    case "datetime":
    case "date-time":
      return { kind: "time", format: "moment" };
    case "date":
      return inside ? { kind: "time", format: "date" } : { kind: "text", format };
    case "duration":
      return { kind: "span", format: inside ? "iso" : "text" };
    case "binary":
      return inside ? { kind: "text", format } : { kind: "bytes" };
    case "error":
      return { kind: "opaque" };
    default:
      return { kind: "text", format };
  }
}

function objectField(schema: Schema, context: Context): Field {
  const properties = object(schema["properties"]);
  switch (context.inside ? "" : text(schema, "format")) {
    case "blob": {
      const format = text(object(properties["format"]), "default");
      if (/pickle/i.test(format)) return { kind: "opaque" };
      return { kind: "file", folder: text(object(properties["dimensionality"]), "default") === "MULTIPART", format };
    }
    case "structured-dataset":
      return { kind: "table", format: text(object(properties["format"]), "default") };
  }
  const names = Object.keys(properties);
  if (names.length > 0) return { kind: "struct", title: text(schema, "title"), parts: parts(schema, properties, { ...context, inside: true }) };
  const values = schema["additionalProperties"];
  if (isObject(values)) return { kind: "map", value: field(values, context) };
  return { kind: "json", object: true };
}

/** The fields of a structure: required ones in declared order, then optional ones by name. */
function parts(schema: Schema, properties: Schema, context: Context): Part[] {
  const required = list(schema, "required").filter((name) => typeof name === "string" && name in properties) as string[];
  const others = Object.keys(properties)
    .filter((name) => !required.includes(name))
    .sort();
  return [...required, ...others].map((name) => {
    const property = object(properties[name]);
    return { name, about: text(property, "description"), required: required.includes(name), field: field(property, context), initial: property["default"] };
  });
}

function choice(schemas: readonly Schema[], context: Context): Field {
  const variants = schemas.map((schema, at) => ({ title: titleOf(schema, context), field: field(schema, context), at }));
  const editable = variants.filter((variant) => variant.field.kind !== "opaque");
  if (editable.length === 0 || (editable.length < variants.length && editable.every((variant) => variant.field.kind === "bytes"))) return { kind: "opaque" };
  const [only, ...more] = editable;
  if (only && more.length === 0 && variants.length === 1) return only.field;
  return { kind: "choice", variants: editable };
}

const typeNames: Readonly<Record<string, string>> = {
  none: t("None"),
  null: t("None"),
  integer: "int",
  float: "float",
  number: "float",
  string: "str",
  boolean: "bool",
  datetime: "datetime",
  duration: "timedelta",
  list: "list",
  array: "list",
  map: "dict",
  object: "dict",
  struct: "dict",
  dataclass: "dataclass",
  "structured-dataset": "DataFrame",
  "date-time": "datetime",
};

function titleOf(schema: Schema, context: Context): string {
  const ref = text(schema, "$ref");
  if (ref !== "") return titleOf(lookUp(context.root, ref) ?? {}, context) || ref.slice(ref.lastIndexOf("/") + 1);
  const type = text(schema, "type");
  if (!context.inside && text(schema, "format") === "blob")
    return text(object(object(schema["properties"])["dimensionality"]), "default") === "MULTIPART" ? t("Dir") : t("File");
  const title = type === "object" || !context.inside ? text(schema, "title") : "";
  const name = title || (type === "string" && text(schema, "format") === "date-time" ? "date-time" : type);
  return typeNames[name] ?? (name || "value");
}

function lookUp(root: Schema, ref: string): Schema | undefined {
  if (!ref.startsWith("#/")) return undefined;
  let at: JsonValue | undefined = root;
  for (const step of ref.slice(2).split("/")) {
    if (!isObject(at)) return undefined;
    at = at[step.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return isObject(at) ? at : undefined;
}

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
const object = (value: JsonValue | undefined): Schema => (isObject(value) ? value : {});
const list = (schema: Schema, key: string): readonly JsonValue[] => {
  const value = schema[key];
  return Array.isArray(value) ? value : [];
};
const text = (schema: Schema, key: string): string => {
  const value = schema[key];
  return typeof value === "string" ? value : "";
};

const omit = (schema: Schema, key: string): Schema => Object.fromEntries(Object.entries(schema).filter(([known]) => known !== key));
