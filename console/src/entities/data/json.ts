import { float, noneValue, type Value } from "@/entities/value/value-type";

/** The text of a number, which has more digits than a number of JavaScript. */
class Digits {
  constructor(readonly text: string) {}
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Parses JSON. Numbers keep all digits where the browser gives them. Throws a SyntaxError, or a RangeError if it is nested too deep. */
export function parseJson(text: string): Value {
  const keep: Reviver = (_, value, context) => (typeof value === "number" && context?.source !== undefined ? new Digits(context.source) : value);
  return valueOf(JSON.parse(text, keep));
}

function valueOf(parsed: unknown): Value {
  if (parsed instanceof Digits) return { kind: "number", digits: parsed.text, whole: /^-?\d+$/.test(parsed.text) };
  switch (typeof parsed) {
    case "string":
      return { kind: "text", text: parsed };
    case "number":
      return Number.isInteger(parsed) ? { kind: "number", digits: String(parsed), whole: true } : float(parsed);
    case "boolean":
      return { kind: "boolean", value: parsed };
    default:
  }
  if (parsed === null || parsed === undefined) return noneValue;
  if (Array.isArray(parsed)) return { kind: "list", items: parsed.map(valueOf) };
  return { kind: "map", struct: true, entries: Object.entries(parsed).map(([key, one]) => [key, valueOf(one)] as const) };
}
