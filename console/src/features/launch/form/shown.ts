import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "./field";

/**
 * The JSON to show of a value in a form. Where JSON alone would give another value back, such as a pickle or a float in a dict, the
 * server sends the encoded literal with it. Unchanged inputs keep their literals, so the form needs the JSON only.
 */
export function shown(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shown);
  if (!isObject(value)) return value;
  const inner = value["$value"];
  if (typeof value["$literal"] === "string" && inner !== undefined && Object.keys(value).length === 2) return inner;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(one)]));
}
