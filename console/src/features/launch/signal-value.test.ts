import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { LiteralTypeSchema, SimpleType } from "@gen/flyteidl2/core/types_pb.js";
import { answerKind, payloadOf, type AnswerKind } from "./signal-value";

const simple = (value: SimpleType) => create(LiteralTypeSchema, { type: { case: "simple", value } });

it("knows what conditions can ask for", () => {
  expect([SimpleType.BOOLEAN, SimpleType.INTEGER, SimpleType.FLOAT, SimpleType.STRING, SimpleType.DATETIME].map((type) => answerKind(simple(type)))).toEqual([
    "boolean",
    "integer",
    "float",
    "text",
    undefined,
  ]);
  expect(answerKind(undefined)).toBeUndefined();
});

it.each<[AnswerKind, string, unknown]>([
  ["boolean", "true", { case: "boolValue", value: true }],
  ["boolean", "false", { case: "boolValue", value: false }],
  ["integer", "9007199254740993", { case: "intValue", value: 9007199254740993n }],
  ["float", "2", { case: "floatValue", value: 2 }],
  ["text", "", { case: "stringValue", value: "" }],
  ["text", "42", { case: "stringValue", value: "42" }],
])("a %s of %j has its own type", (kind, text, value) => expect(payloadOf(kind, text)).toEqual({ payload: { value } }));

it.each<[AnswerKind, string]>([
  ["boolean", ""],
  ["integer", "1.5"],
  ["float", "much"],
])("a %s of %j is refused before it is sent", (kind, text) => expect(payloadOf(kind, text)).toHaveProperty("error"));
