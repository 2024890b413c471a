import { timestampDate, type Duration, type Timestamp } from "@bufbuild/protobuf/wkt";
import type { JsonValue } from "@bufbuild/protobuf";
import type { Literal, Primitive, Scalar } from "@gen/flyteidl2/core/literals_pb.js";
import { BlobType_BlobDimensionality } from "@gen/flyteidl2/core/types_pb.js";
import { unpack } from "./msgpack";

/** A value as people see it, whatever form it was sent in. */
export type Value =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string }
  /** Its digits, since a number may be larger than JavaScript counts exactly. */
  | { readonly kind: "number"; readonly digits: string; readonly whole: boolean }
  | { readonly kind: "boolean"; readonly value: boolean }
  /** With its microseconds. */
  | { readonly kind: "time"; readonly at: Date; readonly iso: string }
  | { readonly kind: "duration"; readonly seconds: number }
  | { readonly kind: "list"; readonly items: readonly Value[] }
  /** A struct has names of its own; a map has keys that are data. */
  | { readonly kind: "map"; readonly entries: readonly (readonly [string, Value])[]; readonly struct: boolean }
  | { readonly kind: "stored"; readonly what: Stored; readonly uri: string; readonly format: string; readonly size?: bigint; readonly columns?: readonly string[] }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly tag: string }
  | { readonly kind: "error"; readonly message: string };

export type Stored = "file" | "directory" | "dataframe" | "pickle" | "value";

export const none: Value = { kind: "none" };
const text = (value: string): Value => ({ kind: "text", text: value });

/** A literal as a value. */
export function valueOf(literal: Literal | undefined): Value {
  const value = literal?.value;
  switch (value?.case) {
    case "scalar":
      return scalarValue(value.value);
    case "collection":
      return { kind: "list", items: value.value.literals.map(valueOf) };
    case "map":
      return { kind: "map", struct: false, entries: Object.entries(value.value.literals).map(([key, one]) => [key, valueOf(one)] as const) };
    case "offloadedMetadata":
      return { kind: "stored", what: "value", uri: value.value.uri, format: "", size: value.value.sizeBytes };
    default:
      return none;
  }
}

function scalarValue({ value }: Scalar): Value {
  switch (value.case) {
    case "primitive":
      return primitiveValue(value.value);
    case "blob": {
      const type = value.value.metadata?.type;
      const format = type?.format ?? "";
      const what = type?.dimensionality === BlobType_BlobDimensionality.MULTIPART ? "directory" : /pickle/i.test(format) ? "pickle" : "file";
      return { kind: "stored", what, uri: value.value.uri, format };
    }
    case "structuredDataset": {
      const type = value.value.metadata?.structuredDatasetType;
      const columns = type?.columns.map((column) => column.name) ?? [];
      return { kind: "stored", what: "dataframe", uri: value.value.uri, format: type?.format ?? "", ...(columns.length > 0 && { columns }) };
    }
    case "schema":
      return { kind: "stored", what: "dataframe", uri: value.value.uri, format: "" };
    case "binary":
      return binaryValue(value.value.value, value.value.tag);
    case "generic":
      return jsonValue(value.value);
    case "union":
      return valueOf(value.value.value);
    case "error":
      return { kind: "error", message: value.value.message };
    default:
      return none;
  }
}

function binaryValue(bytes: Uint8Array, tag: string): Value {
  if (tag !== "msgpack") return { kind: "bytes", bytes, tag };
  try {
    return unpack(bytes);
  } catch {
    return { kind: "bytes", bytes, tag }; // shown as what it is
  }
}

function primitiveValue({ value }: Primitive): Value {
  switch (value.case) {
    case "integer":
      return { kind: "number", digits: value.value.toString(), whole: true };
    case "floatValue":
      return float(value.value);
    case "stringValue":
      return text(value.value);
    case "boolean":
      return { kind: "boolean", value: value.value };
    case "datetime":
      return time(value.value);
    case "duration":
      return { kind: "duration", seconds: secondsOf(value.value) };
    default:
      return none;
  }
}

/** A number with a point, as Python writes it. */
export const float = (value: number): Value => ({ kind: "number", digits: Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(1) : String(value), whole: false });

export function time(at: Timestamp): Value {
  const date = timestampDate(at);
  const micros = Math.floor(at.nanos / 1000);
  return { kind: "time", at: date, iso: `${date.toISOString().slice(0, 19)}${micros === 0 ? "" : `.${String(micros).padStart(6, "0")}`}Z` };
}

const secondsOf = (duration: Duration): number => Number(duration.seconds) + duration.nanos / 1e9;

function jsonValue(json: JsonValue): Value {
  if (json === null) return none;
  switch (typeof json) {
    case "string":
      return text(json);
    case "number":
      return Number.isInteger(json) ? { kind: "number", digits: String(json), whole: true } : float(json);
    case "boolean":
      return { kind: "boolean", value: json };
    default:
      return Array.isArray(json)
        ? { kind: "list", items: json.map(jsonValue) }
        : { kind: "map", struct: true, entries: Object.entries(json).map(([key, one]) => [key, jsonValue(one)] as const) };
  }
}
