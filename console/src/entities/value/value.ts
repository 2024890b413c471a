import type { Duration } from "@bufbuild/protobuf/wkt";
import type { JsonValue } from "@bufbuild/protobuf";
import type { Literal, Primitive, Scalar } from "@gen/flyteidl2/core/literals_pb.js";
import { BlobType_BlobDimensionality } from "@gen/flyteidl2/core/types_pb.js";
import { unpack } from "./msgpack";
import { float, noneValue, time, type Value } from "./value-type";

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
      return noneValue;
  }
}

function scalarValue({ value }: Scalar): Value {
  switch (value.case) {
    case "primitive":
      return primitiveValue(value.value);
    case "blob": {
      const type = value.value.metadata?.type;
      const format = type?.format ?? "";
      // Values of Python types that the SDK does not know are files with a pickled object.
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
      return noneValue;
  }
}

// The SDK packs dataclasses, and values without a literal of their own, as msgpack.
function binaryValue(bytes: Uint8Array, tag: string): Value {
  if (tag !== "msgpack") return { kind: "bytes", bytes, tag };
  try {
    return unpack(bytes);
  } catch {
    return { kind: "bytes", bytes, tag }; // damaged, or another use of the tag: its size is still worth showing
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
      return noneValue;
  }
}

const secondsOf = (duration: Duration): number => Number(duration.seconds) + duration.nanos / 1e9;

function jsonValue(json: JsonValue): Value {
  if (json === null) return noneValue;
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
