import { base64, secondsText } from "./write-json";
import type { Value } from "./value-type";

/** Python source with its import lines. */
export interface Python {
  readonly source: string;
  readonly imports: readonly string[];
}

const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"' };
// Quotes, backslashes and invisible characters.
const special = /["\\]|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A text as Python source. */
export function pythonText(text: string): string {
  return `"${text.replace(special, (character) => named[character] ?? escaped(character.codePointAt(0) ?? 0))}"`;
}

function escaped(code: number): string {
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** A value as Python source. */
export function python(value: Value): Python {
  const imports = new Set<string>();
  return { source: write(value, imports, 0), imports: [...imports].sort() };
}

function write(value: Value, imports: Set<string>, depth: number): string {
  switch (value.kind) {
    case "none":
      return "None";
    case "text":
      return pythonText(value.text);
    case "number":
      return /^-?[\d.]+(?:e[+-]?\d+)?$/i.test(value.digits) ? value.digits : `float("${value.digits.toLowerCase()}")`;
    case "boolean":
      return value.value ? "True" : "False";
    case "time":
      imports.add("from datetime import datetime");
      return `datetime.fromisoformat("${value.iso.replace("Z", "+00:00")}")`;
    case "duration":
      imports.add("from datetime import timedelta");
      return `timedelta(seconds=${secondsText(value.seconds)})`;
    case "list":
      return enclosed("[", value.items.map((item) => write(item, imports, depth + 1)), "]", depth);
    case "map":
      return enclosed("{", value.entries.map(([key, one]) => `${pythonText(key)}: ${write(one, imports, depth + 1)}`), "}", depth);
    case "stored":
      return stored(value, imports);
    case "bytes":
      imports.add("from base64 import b64decode");
      return `b64decode("${base64(value.bytes)}")`;
    case "error":
      return `RuntimeError(${pythonText(value.message)})`;
  }
}

const classes = { file: "File", directory: "Dir", dataframe: "DataFrame", pickle: "File", value: "File" } as const;

function stored({ what, uri, format }: Extract<Value, { kind: "stored" }>, imports: Set<string>): string {
  const name = classes[what];
  imports.add(`from flyte.io import ${name}`);
  const more = what === "dataframe" && format ? `, format=${pythonText(format)}` : "";
  return `${name}.from_existing_remote(${pythonText(uri)}${more})`;
}

/** On one line if it is short, else on several. */
function enclosed(open: string, parts: readonly string[], close: string, depth: number): string {
  const line = open + parts.join(", ") + close;
  if (line.length + depth * 4 <= 88 && !line.includes("\n")) return line;
  const pad = "    ".repeat(depth + 1);
  return `${open}\n${parts.map((part) => `${pad}${part},\n`).join("")}${"    ".repeat(depth)}${close}`;
}
