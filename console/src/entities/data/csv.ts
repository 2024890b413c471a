import { bytes } from "@/design/format";
import { t } from "@/texts/texts";
import type { FileSource } from "./source";
import { cellOf, shownRows, type Cell, type ColumnFacts, type Page, type TableData } from "./table-data";

/** A file of at most this size, in bytes, is read as a whole, so that its rows can be counted. */
const counted = 8 << 20;
/** How much is read of a larger one, in bytes. */
const beginning = 1 << 20;
/** Columns beyond these are dropped. */
const mostColumns = 10_000;

/** Splits a text into records, as RFC 4180 says, but tolerant: a quote inside of a field is part of it. */
export function* recordsOf(text: string, delimiter: string): Generator<string[]> {
  let record: string[] = [];
  let field = "";
  let at = 0;
  let started = false; // whether the record has anything
  while (at < text.length) {
    if (text[at] === '"' && field === "") {
      at = quoted(text, at + 1, (part) => (field += part));
      started = true;
      continue;
    }
    const next = endOfPart(text, at, delimiter);
    field += text.slice(at, next);
    const mark = text[next];
    if (next > at || mark === delimiter) started = true;
    at = next + 1;
    if (mark === delimiter) {
      if (record.length < mostColumns) record.push(field);
      field = "";
    } else if (mark === "\n" || mark === "\r" || mark === undefined) {
      if (mark === "\r" && text[at] === "\n") at++;
      if (started) yield [...record, field];
      [record, field, started] = [[], "", false];
    }
  }
  if (started) yield [...record, field];
}

/** Reads a quoted part from a position on and returns the position after it. */
function quoted(text: string, from: number, add: (part: string) => void): number {
  for (;;) {
    const end = text.indexOf('"', from);
    if (end < 0) {
      add(text.slice(from));
      return text.length;
    }
    add(text.slice(from, end));
    if (text[end + 1] !== '"') return end + 1;
    add('"');
    from = end + 2;
  }
}

function endOfPart(text: string, from: number, delimiter: string): number {
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === delimiter || character === "\n" || character === "\r") return at;
  }
  return text.length;
}

const numeric = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const empty = /^(?:|na|n\/a|nan|null|none)$/i;

/** What a column has. */
class Column {
  private nulls = 0;
  private values = 0;
  private numbers = 0;
  private whole = true;
  private least: string | undefined;
  private greatest: string | undefined;
  private low = Infinity;
  private high = -Infinity;
  readonly cells: Cell[] = [];

  constructor(private readonly name: string) {}

  add(text: string, row: number): void {
    const none = empty.test(text);
    if (row < shownRows) this.cells.push(none ? { text: text === "" ? "null" : text, none } : { ...cellOf(text), number: numeric.test(text) });
    if (none) {
      this.nulls++;
      return;
    }
    this.values++;
    if (this.least === undefined || text < this.least) this.least = text;
    if (this.greatest === undefined || text > this.greatest) this.greatest = text;
    if (!numeric.test(text)) return;
    this.numbers++;
    this.whole &&= /^[+-]?\d+$/.test(text);
    const value = Number(text);
    this.low = Math.min(this.low, value);
    this.high = Math.max(this.high, value);
  }

  facts(): ColumnFacts {
    if (this.values === 0) return { name: this.name, type: "empty", nulls: this.nulls, min: undefined, max: undefined };
    if (this.numbers === this.values) {
      return { name: this.name, type: this.whole ? "integer" : "number", nulls: this.nulls, min: String(this.low), max: String(this.high) };
    }
    return { name: this.name, type: "text", nulls: this.nulls, min: cellOf(this.least).text, max: cellOf(this.greatest).text };
  }
}

/** Opens a text with a header and a record on each line. Types are those that the values look like. */
export async function openCsv(source: FileSource, delimiter: string): Promise<TableData> {
  const whole = source.size <= counted;
  let text = new TextDecoder().decode(await source.read(0, whole ? source.size : beginning));
  if (!whole) text = text.slice(0, text.lastIndexOf("\n") + 1); // the last record is cut
  const records = recordsOf(text, delimiter);
  const header = records.next().value as string[] | undefined;
  const columns = (header ?? []).map((name) => new Column(name));
  let rows = 0;
  let uneven = 0;
  for (const record of records) {
    if (record.length !== columns.length) uneven++;
    columns.forEach((column, at) => column.add(record[at] ?? "", rows));
    rows++;
  }
  const facts = columns.map((column) => column.facts());
  return {
    columns: facts,
    rows: whole ? rows : undefined,
    factsOf: whole ? undefined : rows,
    about: [
      delimiter === "," ? "CSV" : "TSV",
      ...(whole ? [] : [t("the first {beginning} of {size}", { beginning: bytes(beginning), size: bytes(source.size) })]),
      ...(uneven > 0 ? [t("{uneven} rows have more or fewer fields than the header", { uneven })] : []),
    ],
    page: (from, to): Promise<Page> =>
      Promise.resolve({ columns: facts.slice(from, to), cells: columns.slice(from, to).map(({ cells }) => cells), rows: Math.min(rows, shownRows) }),
  };
}
