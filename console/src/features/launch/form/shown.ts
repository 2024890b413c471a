import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "./field";

/** A value with its encoded literal, which its JSON alone does not determine. */
interface Exact extends JsonObject {
  readonly $literal: string;
  readonly $value: JsonValue;
}

const isExact = (value: JsonValue | undefined): value is Exact =>
  isObject(value) && typeof value["$literal"] === "string" && value["$value"] !== undefined && Object.keys(value).length === 2;

/**
 * The JSON to show of a value in a form. Where JSON alone would give another value back, such as a pickle or a float in a dict, the
 * server sends the encoded literal with it. Unchanged inputs keep their literals.
 */
export function shown(value: JsonValue): JsonValue {
  if (isExact(value)) return value.$value;
  if (Array.isArray(value)) return value.map(shown);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(one)]));
}

/** A changed value with the literal that it was, so that its other parts stay what they were. */
export const changedFrom = (before: JsonValue | undefined, value: JsonValue): JsonValue =>
  isExact(before) ? { $literal: before.$literal, $value: value } : value;
