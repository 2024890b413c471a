import type { SchemaElement, SchemaTree } from "hyparquet";
import { t } from "@/texts/texts";

const physical: Readonly<Record<string, string>> = {
  BOOLEAN: "bool",
  INT32: "int32",
  INT64: "int64",
  INT96: "timestamp",
  FLOAT: "float32",
  DOUBLE: "float64",
  BYTE_ARRAY: "bytes",
  FIXED_LEN_BYTE_ARRAY: "bytes",
};

const converted: Readonly<Record<string, string>> = {
  UTF8: "string",
  ENUM: "string",
  JSON: "json",
  BSON: "bson",
  DATE: "date",
  INTERVAL: "interval",
  TIME_MILLIS: "time",
  TIME_MICROS: "time",
  TIMESTAMP_MILLIS: "timestamp",
  TIMESTAMP_MICROS: "timestamp",
};

const longest = 80;
const deepest = 4;

/** The type of a column, in the words of Arrow. */
export function typeOf(column: SchemaTree): string {
  const text = wordsOf(column, 0);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function wordsOf(node: SchemaTree, depth: number): string {
  const { element, children } = node;
  if (depth > deepest) return "…";
  if (children.length === 0) return element.repetition_type === "REPEATED" ? `list<${leafOf(element)}>` : leafOf(element);
  const kind = element.logical_type?.type ?? element.converted_type;
  const [only] = children;
  if (kind === "LIST" && only) return `list<${only.children[0] ? wordsOf(only.children[0], depth + 1) : leafOf(only.element)}>`;
  if ((kind === "MAP" || kind === "MAP_KEY_VALUE") && only?.children[0] && only.children[1]) {
    return `map<${wordsOf(only.children[0], depth + 1)}, ${wordsOf(only.children[1], depth + 1)}>`;
  }
  return `struct<${children
    .slice(0, 10)
    .map((child) => `${child.element.name}: ${wordsOf(child, depth + 1)}`)
    .join(", ")}${children.length > 10 ? ", …" : ""}>`;
}

function leafOf(element: SchemaElement): string {
  const logical = element.logical_type;
  switch (logical?.type) {
    case "STRING":
    case "ENUM":
      return "string";
    case "DECIMAL":
      return `decimal(${logical.precision}, ${logical.scale})`;
    case "TIMESTAMP":
      return logical.isAdjustedToUTC ? t("timestamp (UTC)") : "timestamp";
    case "INTEGER":
      return `${logical.isSigned ? "" : "u"}int${logical.bitWidth}`;
    case "FLOAT16":
      return "float16";
    case "NULL":
      return "null";
    case "DATE":
    case "TIME":
    case "JSON":
    case "BSON":
    case "UUID":
    case "INTERVAL":
      return logical.type.toLowerCase();
    default:
  }
  const old = element.converted_type ?? "";
  if (old === "DECIMAL") return `decimal(${element.precision ?? 0}, ${element.scale ?? 0})`;
  const integer = /^(U?)INT_(\d+)$/.exec(old);
  if (integer) return `${integer[1]?.toLowerCase() ?? ""}int${integer[2]}`;
  return converted[old] ?? physical[element.type ?? ""] ?? "";
}
