import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Validator, type OutputUnit, type Schema } from "@cfworker/json-schema";
import { t } from "@/texts/texts";
import type { Errors } from "./draft";
import { isObject } from "./field";

/** Validates a value against the schema of its property, and adds errors under the path of the value. */
export function check(schema: JsonObject, value: JsonValue, path: string, errors: Errors): void {
  const result = new Validator(readable(schema, false) as Schema, "2020-12", false).validate(value);
  if (result.valid) return;
  for (const [at, reason] of deepest(result.errors)) {
    const full = path + at;
    if (!errors.has(full)) errors.set(full, reason);
  }
}

// Keywords that only say that something below them is wrong.
const wrappers = new Set(["properties", "items", "prefixItems", "additionalProperties", "patternProperties", "$ref", "allOf", "then", "else", "if"]);

function deepest(units: readonly OutputUnit[]): Map<string, string> {
  const found = new Map<string, string>();
  // For a value that matches none of several types, it is unknown which reason counts.
  const choices = units.filter((unit) => unit.keyword === "anyOf" || unit.keyword === "oneOf");
  for (const unit of units) {
    const within = choices.some((one) => one !== unit && unit.keywordLocation.startsWith(`${one.keywordLocation}/`));
    if (wrappers.has(unit.keyword) || within) continue;
    const at = pathOf(unit.instanceLocation);
    if (!found.has(at)) found.set(at, choices.includes(unit) ? "The value matches none of the possible types." : sentence(unit));
  }
  if (found.size === 0 && units[0]) found.set(pathOf(units[0].instanceLocation), sentence(units[0]));
  return found;
}

/** The message of an error; common keywords have texts of their own. */
function sentence({ keyword, error }: OutputUnit): string {
  const name = /"([^"]*)"/.exec(error)?.[1];
  switch (keyword) {
    case "required":
      return name === undefined ? t("A property is missing.") : t('Property "{name}" is missing.', { name });
    case "type":
      return t("Wrong type. {error}", { error });
    case "false":
      return t("Unknown property.");
    default:
      return error;
  }
}

/** A JSON pointer as the server writes paths. */
function pathOf(pointer: string): string {
  return pointer
    .replace(/^#?\/?/, "")
    .split("/")
    .filter((step) => step !== "")
    .map((step) => {
      const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      return /^\d+$/.test(key) ? `[${key}]` : `.${key}`;
    })
    .join("");
}

// Formats that both the server and the standard know, with the same meaning.
const sharedFormats = new Set(["date-time", "date", "uuid", "email", "ipv4", "ipv6", "uri"]);

/**
 * The schema as a validator of the standard reads it. The server marks types by formats of its own, takes text for numbers that
 * JSON cannot hold, and lets a value fit several variants of a union.
 */
function readable(schema: JsonValue, inside: boolean): JsonValue {
  if (Array.isArray(schema)) return schema.map((one) => readable(one, inside));
  if (!isObject(schema)) return schema;
  const format = schema["format"];
  if (!inside && (format === "blob" || format === "structured-dataset")) {
    return { type: "object", properties: { uri: { type: "string", minLength: 1 }, format: { type: "string" } }, required: ["uri"] };
  }
  const within = inside || schema["properties"] !== undefined || schema["$defs"] !== undefined;
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "default" || key === "title" || key === "description" || key === "structure") continue;
    if (key === "format" && !(typeof value === "string" && within && sharedFormats.has(value))) continue;
    if (key === "properties" || key === "$defs" || key === "patternProperties") {
      result[key] = isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, readable(one, within)])) : value;
    } else if (key === "enum" || key === "const" || key === "required") {
      result[key] = value;
    } else {
      result[key === "oneOf" ? "anyOf" : key] = readable(value, within);
    }
  }
  if (result["type"] === "integer") return loosely(result, "^-?[0-9]+$");
  if (result["type"] === "number") return loosely(result, "^(NaN|-?Infinity)$");
  if (format === "duration" && !within) return { type: ["string", "number"] };
  return result;
}

const loosely = (number: JsonObject, pattern: string): JsonObject => ({ if: { type: "string" }, then: { pattern }, else: number });
