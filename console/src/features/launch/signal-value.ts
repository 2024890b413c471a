import type { MessageInitShape } from "@bufbuild/protobuf";
import { SimpleType, type LiteralType } from "@gen/flyteidl2/core/types_pb.js";
import type { EventPayloadSchema } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { t } from "@/texts/texts";
import { parseFloating, parseInteger } from "./form/text";

/** The types of answers that the form supports. */
export type AnswerKind = "boolean" | "integer" | "float" | "text";

/** The type of answer of a condition; undefined if the form does not support it. */
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

/** The payload of a signal, or the error of the text. */
export function payloadOf(kind: AnswerKind, text: string): { readonly payload: Payload } | { readonly error: string } {
  switch (kind) {
    case "boolean":
      if (text !== "true" && text !== "false") return { error: t("Choose yes or no.") };
      return { payload: { value: { case: "boolValue", value: text === "true" } } };
    case "integer": {
      const digits = parseInteger(text);
      return digits === undefined ? { error: t("Enter a whole number.") } : { payload: { value: { case: "intValue", value: BigInt(digits) } } };
    }
    case "float": {
      const value = parseFloating(text);
      return value === undefined ? { error: t("Enter a number.") } : { payload: { value: { case: "floatValue", value } } };
    }
    case "text":
      return { payload: { value: { case: "stringValue", value: text } } };
  }
}
