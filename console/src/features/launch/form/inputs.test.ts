// @vitest-environment happy-dom
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { VariableEntrySchema } from "@gen/flyteidl2/core/interface_pb.js";
import { LiteralSchema } from "@gen/flyteidl2/core/literals_pb.js";
import { SimpleType } from "@gen/flyteidl2/core/types_pb.js";
import { check } from "./check";
import { fieldOf } from "./field";
import { changed, draftsOf, initialDrafts, readInputs, sourceOf, type Input } from "./inputs";
import { planOf } from "./literals";
import { changedFrom, shown } from "./shown";

const input = (name: string, schema: JsonObject, json?: JsonValue): Input => ({
  name,
  about: "",
  variable: create(VariableEntrySchema, { key: name }),
  schema,
  field: fieldOf(schema),
  given: json === undefined ? undefined : { literal: create(LiteralSchema), json },
});

describe("schemas", () => {
  const errors = (schema: JsonObject, value: JsonValue) => {
    const found = new Map<string, string>();
    check(schema, value, "x", found);
    return [...found.keys()];
  };
  const bounded = {
    type: "object",
    $ref: "#/$defs/P",
    $defs: { P: { type: "object", properties: { n: { type: "integer", minimum: 0 }, e: { type: "string", enum: ["a"] } }, required: ["n"] } },
  };
  it("name the part that is wrong", () => {
    expect(errors(bounded, { n: -1 })).toEqual(["x.n"]);
    expect(errors(bounded, { n: 1, e: "b" })).toEqual(["x.e"]);
    expect(errors({ type: "array", items: bounded.$defs.P }, [{ n: 1 }, { n: -2 }])).toEqual(["x[1].n"]);
    expect(errors(bounded, {})).toEqual(["x"]);
  });
  it("let through what the server's own formats mean", () => {
    expect(errors({ type: "string", format: "duration" }, "1h30m")).toEqual([]);
    expect(errors({ type: "integer" }, "9007199254740993")).toEqual([]);
    expect(errors({ type: "integer" }, "many")).toEqual(["x"]);
    expect(errors({ oneOf: [{ type: "integer" }, { type: "number", format: "float" }] }, 1)).toEqual([]);
    expect(errors({ oneOf: [{ type: "integer" }, { type: "null" }] }, true)).toEqual(["x"]);
  });
});

describe("values with their literals", () => {
  const exact = (value: JsonValue): JsonValue => ({ $literal: "CgA=", $value: value });
  it("are shown as JSON", () => {
    expect(shown(exact({ a: 1 }))).toEqual({ a: 1 });
    expect(shown(exact(null))).toBeNull();
    expect(shown([1, exact("YQ=="), { b: exact([2]) }])).toEqual([1, "YQ==", { b: [2] }]);
  });
  it("are sent back with their literals when they were changed", () => {
    expect(changedFrom(exact({ a: 1 }), { a: 2 })).toEqual(exact({ a: 2 }));
    expect(changedFrom({ a: 1 }, { a: 2 })).toEqual({ a: 2 });
    expect(changedFrom(undefined, 1)).toBe(1);
  });
  it("leave other objects as they are", () => {
    for (const value of [{ $literal: 1, $value: 2 }, { $literal: "CgA=" }, { $literal: "CgA=", $value: 1, more: 2 }]) expect(shown(value)).toEqual(value);
  });
});

describe("the inputs of a task", () => {
  const inputs = [input("n", { type: "integer" }, 3), input("who", { type: "string" })];
  it("start with what was given, and ask for the rest", () => {
    const { values, errors } = readInputs(inputs, initialDrafts(inputs), "UTC");
    expect(values).toEqual({ n: 3 });
    expect([...errors.keys()]).toEqual(["who"]);
  });
  it("can be written as one JSON text and read again", () => {
    const read = draftsOf(inputs, '{"n": 4, "who": "me"}');
    if ("error" in read) throw new Error(read.error);
    expect(JSON.parse(sourceOf(inputs, read.drafts, "UTC"))).toEqual({ n: 4, who: "me" });
    expect(changed(inputs, readInputs(inputs, read.drafts, "UTC").values)).toEqual(["n", "who"]);
  });
  it("refuse a text that is not theirs", () => {
    expect(draftsOf(inputs, "{")).toHaveProperty("error");
    expect(draftsOf(inputs, "[]")).toHaveProperty("error");
    expect(draftsOf(inputs, '{"x": 1}')).toHaveProperty("error");
  });
  it("keep what no form can show", () => {
    const kept: Input = { ...input("p", {}), field: { kind: "opaque" }, given: { literal: create(LiteralSchema), json: undefined } };
    expect(readInputs([kept], initialDrafts([kept]), "UTC")).toEqual({ values: {}, errors: new Map() });
  });
  it("are translated only where they changed, and as the chosen variant", () => {
    const schema = {
      oneOf: [
        { type: "string", title: "string" },
        { type: "string", format: "datetime", title: "datetime" },
      ],
      format: "union",
    };
    const simple = (value: SimpleType) => ({ type: { case: "simple", value } }) as const;
    const either: Input = {
      ...input("t", schema),
      variable: create(VariableEntrySchema, {
        key: "t",
        value: { type: { type: { case: "unionType", value: { variants: [simple(SimpleType.STRING), simple(SimpleType.DATETIME)] } } } },
      }),
    };
    const drafts = { n: { kind: "text", text: "3" }, t: { kind: "variant", variant: 1, value: { kind: "text", text: "2026-01-31" } } } as const;
    const both = [inputs[0] ?? either, either];
    const plan = planOf(both, drafts, readInputs(both, drafts, "UTC").values);
    expect(plan.values).toEqual({ t: "2026-01-31T00:00:00Z" });
    const type = plan.variables[0]?.value?.type?.type;
    expect(type?.case === "unionType" && type.value.variants.map(({ type: one }) => one.value)).toEqual([SimpleType.DATETIME]);
  });
});
