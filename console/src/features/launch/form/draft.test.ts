import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { draftOf, same, valueOf, type Errors } from "./draft";
import { fieldOf } from "./field";

const nullable = {
  oneOf: [
    { type: "integer", title: "integer", structure: { tag: "int" } },
    { type: "null", title: "none" },
  ],
  format: "union",
};
const point = {
  type: "object",
  title: "dataclass",
  properties: {
    y: { type: "number" },
    x: { type: "integer" },
    tags: { type: "array", items: { type: "string" } },
    wait: { type: "number", format: "time-delta" },
  },
  required: ["x", "y"],
};
const blob = (dimensionality: string, format = "") => ({
  type: "object",
  format: "blob",
  properties: {
    uri: { type: "string" },
    format: { type: "string", default: format },
    dimensionality: { type: "string", default: dimensionality, enum: ["SINGLE", "MULTIPART"] },
  },
});
const recursive: JsonObject = {
  type: "object",
  $ref: "#/$defs/Node",
  $defs: {
    Node: {
      type: "object",
      title: "Node",
      properties: { name: { type: "string" }, kids: { type: "array", items: { $ref: "#/$defs/Node" } } },
      required: ["name"],
    },
  },
};

/** A value put into a field and read again. */
function through(schema: JsonObject, value: JsonValue): { readonly value: JsonValue | undefined; readonly errors: Errors } {
  const field = fieldOf(schema);
  const errors: Errors = new Map();
  return { value: valueOf(field, draftOf(field, value), "x", { zone: "UTC", errors }), errors };
}

describe("a value stays the same on its way through a form", () => {
  it.each<[string, JsonObject, JsonValue]>([
    ["int", { type: "integer" }, 7],
    ["int beyond what numbers hold", { type: "integer" }, "9007199254740993"],
    ["float", { type: "number", format: "float" }, 1.5],
    ["NaN", { type: "number", format: "float" }, "NaN"],
    ["bool", { type: "boolean" }, false],
    ["str", { type: "string" }, "a\nb"],
    ["empty str", { type: "string" }, ""],
    ["datetime", { type: "string", format: "datetime" }, "2026-01-31T12:00:00.123456Z"],
    ["enum", { type: "string", enum: ["RED", "BLUE"] }, "BLUE"],
    ["none", nullable, null],
    ["optional", nullable, 3],
    ["none in a list", { type: "array", items: nullable }, [1, null]],
    ["none in a dict", { type: "object", additionalProperties: nullable }, { a: null }],
    ["list", { type: "array", items: { type: "array", items: { type: "integer" } } }, [[1], []]],
    ["dict", { type: "object", additionalProperties: { type: "number" } }, { a: 1, "": 2 }],
    ["dict with an odd key", { type: "object", additionalProperties: { type: "integer" } }, JSON.parse('{"__proto__":1}') as JsonValue],
    ["dataclass", point, { x: 1, y: 2.5, tags: ["a"], wait: 90 }],
    ["dataclass without what may be left out", point, { x: 1, y: 2.5 }],
    ["dataclass with more than its type says", point, { x: 1, y: 2.5, more: true }],
    ["recursive dataclass", recursive, { name: "a", kids: [{ name: "b", kids: [{ name: "c" }] }] }],
    ["file", blob("SINGLE"), { uri: "s3://b/f", format: "csv", dimensionality: "SINGLE" }],
    ["folder", blob("MULTIPART"), { uri: "s3://b/d", format: "", dimensionality: "MULTIPART" }],
    ["open object", { type: "object" }, { any: [1, null] }],
    ["long list", { type: "array", items: { type: "integer" } }, Array.from({ length: 60 }, (_, at) => at)],
  ])("%s", (_, schema, value) => {
    const result = through(schema, value);
    expect([...result.errors]).toEqual([]);
    expect(same(result.value, value)).toBe(true);
  });
});

describe("fields", () => {
  it("show the parts of a dataclass in the order of its author", () => {
    const field = fieldOf(point);
    expect(field.kind === "struct" && field.parts.map(({ name, required }) => [name, required])).toEqual([
      ["x", true],
      ["y", true],
      ["tags", false],
      ["wait", false],
    ]);
  });
  it("leave out what only Python can make", () => {
    expect(fieldOf(blob("SINGLE", "PythonPickle"))).toEqual({ kind: "opaque" });
    expect(fieldOf({ oneOf: [blob("SINGLE", "PythonPickle"), { type: "string", format: "binary" }] })).toEqual({ kind: "opaque" });
  });
  it("know which variant of the type they are", () => {
    const field = fieldOf({ oneOf: [blob("SINGLE", "PythonPickle"), { type: "string", title: "string" }, { type: "null", title: "none" }] });
    expect(field.kind === "choice" && field.variants.map(({ at, title }) => [at, title])).toEqual([
      [1, "str"],
      [2, "None"],
    ]);
  });
});

describe("what is wrong is said where it is", () => {
  const wrong = (schema: JsonObject, draft: Parameters<typeof valueOf>[1]) => {
    const errors: Errors = new Map();
    valueOf(fieldOf(schema), draft, "x", { zone: "UTC", errors });
    return [...errors.keys()];
  };
  const text = (given: string) => ({ kind: "text", text: given }) as const;
  it("in a number", () => expect(wrong({ type: "integer" }, text("1.5"))).toEqual(["x"]));
  it("in an item", () =>
    expect(wrong({ type: "array", items: { type: "integer" } }, { kind: "list", items: [text("1"), text("b"), text("")] })).toEqual(["x[1]", "x[2]"]));
  it("in a part", () => expect(wrong(point, { kind: "struct", parts: { x: text("one") } })).toEqual(["x.x", "x.y"]));
  it("in a key", () => {
    const entries = [
      ["a", text("1")],
      ["a", text("2")],
    ] as const;
    expect(wrong({ type: "object", additionalProperties: { type: "integer" } }, { kind: "map", entries })).toEqual(["x{1}"]);
  });
  it("in JSON", () => expect(wrong({ type: "object" }, text("[1]"))).toEqual(["x"]));
});
