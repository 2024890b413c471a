import { t } from "@/texts/texts";

/** What is known of a column. Texts are for people. */
export interface ColumnFacts {
  readonly name: string;
  readonly type: string;
  /** The number of nulls; undefined if it is not known. */
  readonly nulls: number | undefined;
  /** Undefined if it is not known. */
  readonly min: string | undefined;
  readonly max: string | undefined;
}

/** A value of a cell, as text, and whether it represents a missing value. */
export interface Cell {
  readonly text: string;
  readonly none?: boolean;
  readonly number?: boolean;
}

/** A part of the columns with their first rows. */
export interface Page {
  readonly columns: readonly ColumnFacts[];
  /** The cells of each column; a text says why there are none. */
  readonly cells: readonly (readonly Cell[] | string)[];
  readonly rows: number;
}

/** A table whose first rows can be read. */
export interface TableData {
  readonly columns: readonly ColumnFacts[];
  /** The number of rows; undefined if the whole file would have to be read for it. */
  readonly rows: number | undefined;
  /** Of how many rows the facts of columns are; undefined for all. */
  readonly factsOf: number | undefined;
  /** More about the file. */
  readonly about: readonly string[];
  /** Reads the first rows of the columns from one position up to another. */
  readonly page: (from: number, to: number) => Promise<Page>;
}

/** How many rows of a table are shown. */
export const shownRows = 100;
const longCell = 300;

const noneCell: Cell = { text: "null", none: true };

/** A decoded value as a cell. */
export function cellOf(value: unknown): Cell {
  switch (typeof value) {
    case "undefined":
      return noneCell;
    case "number":
    case "bigint":
      return { text: String(value), number: true };
    case "boolean":
      return { text: value ? "true" : "false" };
    case "string":
      return { text: cut(value) };
    default:
  }
  if (value === null) return noneCell;
  if (value instanceof Date) return { text: isoOf(value) };
  if (value instanceof Uint8Array) return { text: hex(value) };
  return { text: cut(compact(value)) };
}

const cut = (text: string): string => (text.length > longCell ? `${text.slice(0, longCell)} …` : text);

const isoOf = (date: Date): string => (Number.isNaN(date.getTime()) ? t("invalid date") : date.toISOString().replace(/T00:00:00\.000Z$/, ""));

const hex = (data: Uint8Array): string =>
  `${Array.from(data.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join(" ")}${data.length > 16 ? ` ${t("… ({data} bytes)", { data: data.length })}` : ""}`;

/** A nested value on one line. */
function compact(value: unknown): string {
  const text = JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === "bigint") return Number.isSafeInteger(Number(one)) ? Number(one) : one.toString();
    return one instanceof Uint8Array ? hex(one) : one;
  }) as string | undefined;
  return text ?? "";
}
