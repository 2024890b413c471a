import type { MessageInitShape } from "@bufbuild/protobuf";
import { SimpleType, type LiteralType } from "@gen/flyteidl2/core/types_pb.js";
import type { EventPayloadSchema } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { parseFloating, parseInteger } from "./form/text";

/** What a condition can be answered with. */
export type AnswerKind = "boolean" | "integer" | "float" | "text";

/** The kind of answer that a condition wants; undefined for one that cannot be given by hand. */
export function answerKind(type: LiteralType | undefined): AnswerKind | undefined {
  if (type?.type.case !== "simple") return undefined;
  switch (type.type.value) {
    case SimpleType.BOOLEAN:
      return "boolean";
    case SimpleType.INTEGER:
      return "integer";
    case SimpleType.FLOAT:
      return "float";
    case SimpleType.STRING:
      return "text";
    default:
      return undefined;
  }
}

type Payload = MessageInitShape<typeof EventPayloadSchema>;

/** The payload of a signal, or what is wrong with the text. */
export function payloadOf(kind: AnswerKind, text: string): { readonly payload: Payload } | { readonly error: string } {
  switch (kind) {
    case "boolean":
      if (text !== "true" && text !== "false") return { error: "Choose yes or no." };
      return { payload: { value: { case: "boolValue", value: text === "true" } } };
    case "integer": {
      const digits = parseInteger(text);
      return digits === undefined ? { error: "It has to be a whole number of at most 64 bits." } : { payload: { value: { case: "intValue", value: BigInt(digits) } } };
    }
    case "float": {
      const value = parseFloating(text);
      return value === undefined ? { error: "It has to be a number." } : { payload: { value: { case: "floatValue", value } } };
    }
    case "text":
      return { payload: { value: { case: "stringValue", value: text } } };
  }
}
