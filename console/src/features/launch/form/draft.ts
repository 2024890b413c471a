import type { SetStateAction } from "react";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { t } from "@/texts/texts";
import { isObject, type Field, type Part } from "./field";
import { parseFloating, parseInteger, parseSpan, parseTime, spanText } from "./text";

/** The content of a field while it is edited, valid or not. */
export type Draft =
  | { readonly kind: "unset" }
  /** A number, a time, a text, JSON: as it was typed. */
  | { readonly kind: "text"; readonly text: string }
  /** One of a closed set of values. */
  | { readonly kind: "chosen"; readonly value: JsonValue }
  | { readonly kind: "list"; readonly items: readonly Draft[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [key: string, value: Draft])[] }
  | { readonly kind: "struct"; readonly parts: Readonly<Record<string, Draft>> }
  | { readonly kind: "stored"; readonly uri: string; readonly format: string }
  | { readonly kind: "variant"; readonly variant: number; readonly value: Draft };

export const unset: Draft = { kind: "unset" };

/** Applies a change to a draft. Changes are functions of the latest draft, so that concurrent changes are not lost. */
export const after = (before: Draft, change: SetStateAction<Draft>): Draft => (typeof change === "function" ? change(before) : change);
const text = (given: string): Draft => ({ kind: "text", text: given });

/** A compound value as JSON, if its field cannot show it or it is too large. */
const source = (value: JsonValue): Draft => text(JSON.stringify(value, null, 2));

/** Longer lists and maps are edited as JSON. */
const maxItems = 50;

/** The draft of a value. A value that the field cannot show becomes JSON, or unset. */
export function draftOf(field: Field, value: JsonValue | undefined): Draft {
  if (value === undefined) return initialDraft(field);
  switch (field.kind) {
    case "none":
      return value === null ? { kind: "chosen", value } : unset;
    case "integer":
    case "number":
    case "span":
      return typeof value === "number" || typeof value === "string" ? text(String(value)) : unset;
    case "text":
    case "bytes":
    case "time":
      return typeof value === "string" ? text(value) : unset;
    case "flag":
      return typeof value === "boolean" ? { kind: "chosen", value } : unset;
    case "enum":
      return field.values.some((known) => same(known, value)) ? { kind: "chosen", value } : unset;
    case "list":
      return Array.isArray(value) && value.length <= maxItems ? { kind: "list", items: value.map((item) => draftOf(field.item, item)) } : source(value);
    case "map":
      return isObject(value) && Object.keys(value).length <= maxItems
        ? { kind: "map", entries: Object.entries(value).map(([key, one]) => [key, draftOf(field.value, one)] as const) }
        : source(value);
    case "struct":
      return isObject(value) && Object.keys(value).every((name) => field.parts.some((part) => part.name === name))
        ? {
            kind: "struct",
            parts: Object.fromEntries(field.parts.map((part) => [part.name, value[part.name] === undefined ? unset : draftOf(part.field, value[part.name])])),
          }
        : source(value);
    case "file":
    case "table":
      return isObject(value) ? { kind: "stored", uri: string(value["uri"]), format: string(value["format"]) || field.format } : unset;
    case "choice": {
      const variant = field.variants.findIndex((one) => fits(one.field, value));
      const chosen = field.variants[variant];
      return chosen ? { kind: "variant", variant, value: draftOf(chosen.field, value) } : source(value);
    }
    case "json":
      return source(value);
    case "opaque":
      return unset;
  }
}

const string = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** The initial draft of a field. */
export function initialDraft(field: Field): Draft {
  switch (field.kind) {
    case "none":
      return { kind: "chosen", value: null };
    case "enum":
      return field.values.length === 1 && field.values[0] !== undefined ? { kind: "chosen", value: field.values[0] } : unset;
    case "struct":
      return { kind: "struct", parts: Object.fromEntries(field.parts.map((part) => [part.name, initialPart(part)])) };
    case "choice": {
      // None, if it is one of the variants.
      const noneAt = field.variants.findIndex((one) => one.field.kind === "none");
      const variant = Math.max(noneAt, 0);
      const chosen = field.variants[variant];
      return chosen ? { kind: "variant", variant, value: initialDraft(chosen.field) } : unset;
    }
    default:
      return unset;
  }
}

const initialPart = (part: Part): Draft => {
  if (part.initial !== undefined) return draftOf(part.field, part.initial);
  return part.required ? initialDraft(part.field) : unset;
};

/** Whether a value matches a field. */
export function fits(field: Field, value: JsonValue): boolean {
  switch (field.kind) {
    case "none":
      return value === null;
    case "integer":
      return (typeof value === "number" && Number.isInteger(value)) || (typeof value === "string" && parseInteger(value) === value);
    case "number":
      return typeof value === "number" || value === "NaN" || value === "Infinity" || value === "-Infinity";
    case "flag":
      return typeof value === "boolean";
    case "text":
    case "bytes":
      return typeof value === "string";
    case "time":
      return typeof value === "string" && parseTime(value, "UTC") !== undefined;
    case "span":
      return typeof value === "number" || (typeof value === "string" && parseSpan(value) !== undefined);
    case "enum":
      return field.values.some((known) => same(known, value));
    case "list":
      return Array.isArray(value) && value.every((item) => fits(field.item, item));
    case "map":
      return isObject(value) && Object.values(value).every((one) => fits(field.value, one));
    case "struct":
      return (
        isObject(value) &&
        Object.keys(value).every((name) => field.parts.some((part) => part.name === name)) &&
        field.parts.every((part) => (value[part.name] === undefined ? !part.required : fits(part.field, value[part.name] ?? null)))
      );
    case "file":
      return isObject(value) && typeof value["uri"] === "string" && (value["dimensionality"] === "MULTIPART") === field.folder;
    case "table":
      return isObject(value) && typeof value["uri"] === "string" && !("dimensionality" in value);
    case "choice":
      return field.variants.some((one) => fits(one.field, value));
    case "json":
      return !field.object || isObject(value);
    case "opaque":
      return false;
  }
}

type Wrong = (reason: string) => JsonValue | undefined;

/** Errors by the path of the value, such as x[2].y. */
export type Errors = Map<string, string>;

export interface Reading {
  /** The zone of times that have none. */
  readonly zone: string | undefined;
  readonly errors: Errors;
}

/** The value of a draft; undefined if it is unset. Errors are added to the reading. */
export function valueOf(field: Field, draft: Draft, path: string, reading: Reading): JsonValue | undefined {
  if (draft.kind === "unset") return undefined;
  const wrong: Wrong = (reason) => {
    reading.errors.set(path, reason);
    return undefined;
  };
  if (draft.kind === "text") return textValue(field, draft.text, wrong, reading.zone);
  if (draft.kind === "chosen") return draft.value;
  if (draft.kind === "stored") return storedValue(field, draft, wrong);
  if (draft.kind === "variant") {
    const chosen = field.kind === "choice" ? field.variants[draft.variant] : undefined;
    return chosen && present(valueOf(chosen.field, draft.value, path, reading), path, reading);
  }
  if (draft.kind === "list" && field.kind === "list") {
    return draft.items.map((item, at) => present(valueOf(field.item, item, `${path}[${at}]`, reading), `${path}[${at}]`, reading));
  }
  if (draft.kind === "map" && field.kind === "map") {
    const result: JsonObject = {};
    for (const [at, [key, one]] of draft.entries.entries()) {
      if (Object.hasOwn(result, key)) reading.errors.set(`${path}{${at}}`, `Duplicate key ${JSON.stringify(key)}.`);
      put(result, key, present(valueOf(field.value, one, `${path}.${key}`, reading), `${path}.${key}`, reading));
    }
    return result;
  }
  if (draft.kind === "struct" && field.kind === "struct") {
    const result: JsonObject = {};
    for (const part of field.parts) {
      const at = `${path}.${part.name}`;
      const value = valueOf(part.field, draft.parts[part.name] ?? unset, at, reading);
      if (value !== undefined) put(result, part.name, value);
      else if (part.required) missing(at, reading);
    }
    return result;
  }
  return undefined;
}

// Accept keys such as __proto__.
const put = (target: JsonObject, key: string, value: JsonValue) =>
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });

/** The value, which may be null; undefined is an error. */
const present = (value: JsonValue | undefined, path: string, reading: Reading): JsonValue => (value === undefined ? missing(path, reading) : value);

function missing(path: string, { errors }: Reading): null {
  if (!errors.has(path)) errors.set(path, "Enter a value.");
  return null;
}

function storedValue(field: Field, draft: Extract<Draft, { kind: "stored" }>, wrong: Wrong): JsonValue | undefined {
  const uri = draft.uri.trim();
  if (uri === "") return wrong(t("Upload a file, or enter its URI."));
  if (field.kind === "file") return { uri, format: draft.format, dimensionality: field.folder ? "MULTIPART" : "SINGLE" };
  return { uri, format: draft.format.trim() };
}

function textValue(field: Field, given: string, wrong: Wrong, zone: string | undefined): JsonValue | undefined {
  const blank = given.trim() === "";
  switch (field.kind) {
    case "text":
      return given;
    case "integer": {
      if (blank) return undefined;
      const digits = parseInteger(given);
      if (digits === undefined) return wrong(t("Enter a whole number."));
      return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
    }
    case "number": {
      if (blank) return undefined;
      const value = parseFloating(given);
      if (value === undefined) return wrong(t("Enter a number."));
      return Number.isFinite(value) ? value : String(value);
    }
    case "time": {
      if (blank) return undefined;
      const moment = parseTime(given, field.format === "date" ? "UTC" : zone);
      if (moment === undefined) return wrong(t("Enter a time such as 2026-01-31 12:00:00 or 2026-01-31T12:00:00Z."));
      return field.format === "date" ? moment.slice(0, 10) : moment;
    }
    case "span": {
      if (blank) return undefined;
      const seconds = parseSpan(given);
      if (seconds === undefined) return wrong(t("Enter a duration such as 90, 1h30m or 2d."));
      if (field.format === "seconds") return seconds;
      return field.format === "iso" ? `${seconds < 0 ? "-" : ""}PT${spanText(Math.abs(seconds)).toUpperCase()}` : spanText(seconds);
    }
    case "bytes":
      if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(given)) return wrong(t("Enter base64."));
      return given.replace(/\s/g, "");
    default:
      return jsonText(field, given, wrong);
  }
}

/** Any field can be edited as JSON. */
function jsonText(field: Field, given: string, wrong: Wrong): JsonValue | undefined {
  if (given.trim() === "") return undefined;
  try {
    const value = JSON.parse(given) as JsonValue;
    if (field.kind === "json" && field.object && !isObject(value)) return wrong(t("Enter a JSON object, such as {}."));
    return value;
  } catch (error) {
    return wrong(t("Invalid JSON: {message}", { message: error instanceof Error ? error.message : "" }));
  }
}

/** Whether two values are equal, whatever the order of keys. */
export function same(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => same(item, b[at]));
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
  }
  return false;
}
