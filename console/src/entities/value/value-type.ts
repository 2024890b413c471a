import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";

/** A value as people see it, whatever form it was sent in. */
export type Value =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string }
  /** As digits, because a number may exceed what JavaScript represents exactly. */
  | { readonly kind: "number"; readonly digits: string; readonly whole: boolean }
  | { readonly kind: "boolean"; readonly value: boolean }
  /** The ISO text has microseconds. */
  | { readonly kind: "time"; readonly at: Date; readonly iso: string }
  | { readonly kind: "duration"; readonly seconds: number }
  | { readonly kind: "list"; readonly items: readonly Value[] }
  /** The keys of a struct are field names; those of a map are data. */
  | { readonly kind: "map"; readonly entries: readonly (readonly [string, Value])[]; readonly struct: boolean }
  | {
      readonly kind: "stored";
      readonly what: Stored;
      readonly uri: string;
      readonly format: string;
      readonly size?: bigint;
      readonly columns?: readonly string[];
    }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly tag: string }
  | { readonly kind: "error"; readonly message: string };

export type Stored = "file" | "directory" | "dataframe" | "pickle" | "value";

export const noneValue: Value = { kind: "none" };

/** A float, with a decimal point as Python writes it. */
export const float = (value: number): Value => ({
  kind: "number",
  digits: Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(1) : String(value),
  whole: false,
});

export function time(at: Timestamp): Value {
  const date = timestampDate(at);
  const micros = Math.floor(at.nanos / 1000);
  const fraction = micros === 0 ? "" : `.${String(micros).padStart(6, "0")}`;
  return { kind: "time", at: date, iso: `${date.toISOString().slice(0, 19)}${fraction}Z` };
}
