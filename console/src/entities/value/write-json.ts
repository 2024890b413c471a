import type { Value } from "./value-type";

export const base64 = (bytes: Uint8Array): string => {
  let binary = "";
  for (let from = 0; from < bytes.length; from += 0x8000) binary += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
  return btoa(binary);
};

/** Seconds without trailing zeros. */
export const secondsText = (seconds: number): string => String(Number(seconds.toFixed(9)));

/** A value as JSON. Numbers keep all digits. An indent of 0 writes a single line. */
export function json(value: Value, indent = 2, depth = 0): string {
  switch (value.kind) {
    case "none":
      return "null";
    case "text":
      return JSON.stringify(value.text);
    case "number":
      return /^-?[\d.]+(?:e[+-]?\d+)?$/i.test(value.digits) ? value.digits : JSON.stringify(value.digits);
    case "boolean":
      return String(value.value);
    case "time":
      return JSON.stringify(value.iso);
    case "duration":
      return JSON.stringify(`${secondsText(value.seconds)}s`);
    case "list":
      return enclosed("[", value.items.map((item) => json(item, indent, depth + 1)), "]", indent, depth);
    case "map": {
      const colon = indent === 0 ? ":" : ": ";
      return enclosed("{", value.entries.map(([key, one]) => JSON.stringify(key) + colon + json(one, indent, depth + 1)), "}", indent, depth);
    }
    case "stored": {
      const entries: [string, Value][] = [["uri", { kind: "text", text: value.uri }]];
      if (value.format) entries.push(["format", { kind: "text", text: value.format }]);
      return json({ kind: "map", struct: true, entries }, indent, depth);
    }
    case "bytes":
      return JSON.stringify(base64(value.bytes));
    case "error":
      return JSON.stringify(value.message);
  }
}

function enclosed(open: string, parts: readonly string[], close: string, indent: number, depth: number): string {
  if (parts.length === 0) return open + close;
  if (indent === 0) return open + parts.join(",") + close;
  const pad = " ".repeat(indent * (depth + 1));
  return `${open}\n${parts.map((part) => pad + part).join(",\n")}\n${" ".repeat(indent * depth)}${close}`;
}
