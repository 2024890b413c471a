import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { NamedLiteralSchema } from "@gen/flyteidl2/task/common_pb.js";
import { changeWords, metricsOf, rowsOf, textsOf } from "./columns";
import { CompareSearch, keysOf, searchOf } from "@/entities/run/comparison";

const scalar = (value: { case: "integer"; value: bigint } | { case: "floatValue"; value: number } | { case: "stringValue"; value: string }) => ({
  case: "scalar" as const,
  value: { value: { case: "primitive" as const, value: { value } } },
});
const literal = (name: string, value: Parameters<typeof scalar>[0]) => create(NamedLiteralSchema, { name, value: { value: scalar(value) } });
const list = (name: string, ...values: number[]) =>
  create(NamedLiteralSchema, {
    name,
    value: { value: { case: "collection", value: { literals: values.map((value) => ({ value: scalar({ case: "floatValue", value }) })) } } },
  });

describe("columns of runs", () => {
  it("have a row for each name of any run, and say which differ", () => {
    expect(rowsOf([[["x", "1"], ["y", "2"], ["n", ""]], [["x", "1"], ["z", "3"]], [["x", "1"]]])).toEqual([
      { name: "x", values: ["1", "1", "1"], same: true },
      { name: "y", values: ["2", "", ""], same: false },
      { name: "z", values: ["", "3", ""], same: false },
    ]);
  });

  it("have the numbers of outputs as metrics, also those inside of values", () => {
    const outputs = [literal("accuracy", { case: "floatValue", value: 0.5 }), literal("name", { case: "stringValue", value: "a" }), list("losses", 3, 2)];
    expect(metricsOf(outputs)).toEqual([["accuracy", "0.5"], ["losses[0]", "3.0"], ["losses[1]", "2.0"]]);
    expect(metricsOf([list("many", ...Array.from({ length: 500 }, (_, n) => n))]).length).toBe(10);
  });

  it("cut long values", () => {
    expect(textsOf([literal("text", { case: "stringValue", value: "x".repeat(1000) })])[0]?.[1].length).toBe(302);
  });

  it("say how a number changed against the first run", () => {
    expect([changeWords("10", "12"), changeWords("10", "9.95"), changeWords("-2", "-1"), changeWords("0", "1"), changeWords("1", ""), changeWords("a", "b")]).toEqual([
      "+20 %", "−0.5 %", "+50 %", "", "", "",
    ]);
  });
});

describe("the address of a comparison", () => {
  it("has two runs and up to eight more", () => {
    const keys = Array.from({ length: 12 }, (_, n) => `r${n}`);
    expect(keysOf(CompareSearch({ a: "x", b: "y", more: "z,tracked:x,y" }))).toEqual(["x", "y", "z", "tracked:x"]);
    expect(keysOf(CompareSearch({ a: "r0", b: "r1", more: keys.slice(2).join(",") })).length).toBe(10);
    expect(searchOf(["x", "y"])).toEqual({ a: "x", b: "y" });
    expect(searchOf(["x", "y", "z"])).toEqual({ a: "x", b: "y", more: "z" });
    expect(searchOf([])).toEqual({});
  });
});
