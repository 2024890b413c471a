import { BlobType_BlobDimensionality, SimpleType, type LiteralType } from "@gen/flyteidl2/core/types_pb.js";

const simple: Record<SimpleType, string> = {
  [SimpleType.NONE]: "None",
  [SimpleType.INTEGER]: "int",
  [SimpleType.FLOAT]: "float",
  [SimpleType.STRING]: "str",
  [SimpleType.BOOLEAN]: "bool",
  [SimpleType.DATETIME]: "datetime",
  [SimpleType.DURATION]: "timedelta",
  [SimpleType.BINARY]: "bytes",
  [SimpleType.ERROR]: "error",
  [SimpleType.STRUCT]: "dict",
};

/** The Python name of a type; empty if unknown. */
export function typeWords(type: LiteralType | undefined): string {
  const kind = type?.type;
  switch (kind?.case) {
    case "simple": {
      const title = type?.metadata?.["title"];
      return kind.value === SimpleType.STRUCT && typeof title === "string" ? title : simple[kind.value];
    }
    case "collectionType":
      return `list[${typeWords(kind.value)}]`;
    case "mapValueType":
      return `dict[str, ${typeWords(kind.value)}]`;
    case "blob":
      if (/pickle/i.test(kind.value.format)) return "pickle";
      return kind.value.dimensionality === BlobType_BlobDimensionality.MULTIPART ? "Dir" : "File";
    case "enumType":
      return kind.value.values.map((name) => JSON.stringify(name)).join(" | ");
    case "structuredDatasetType":
    case "schema":
      return "DataFrame";
    case "unionType":
      return [...new Set(kind.value.variants.map(typeWords))].join(" | ");
    default:
      return "";
  }
}
