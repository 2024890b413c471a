import { describe, expect, it } from "vitest";
import { openCsv, recordsOf } from "./csv";
import { over } from "./fixtures";
import type { Cell } from "./table-data";

const open = (text: string, size?: number) => openCsv(over("x.csv", new TextEncoder().encode(text), size).source, ",");

it.each([
  ["a,b\n1,2\n", [["a", "b"], ["1", "2"]]],
  ["a\r\n1\r\n", [["a"], ["1"]]],
  ['"a,b","c ""d""\ne"\nx,', [["a,b", 'c "d"\ne'], ["x", ""]]],
  ['"open', [["open"]]],
  ['a"b,"c"d\n', [['a"b', "cd"]]],
  ["\n\na\n\n", [["a"]]],
  ['""\n', [[""]]],
  ["", []],
])("reads records: %j", (text, records) => {
  expect([...recordsOf(text, ",")]).toEqual(records);
});

describe("a table", () => {
  it("has the facts of its columns", async () => {
    const rows = Array.from({ length: 150 }, (_, n) => `${n - 1},${n % 2 ? n / 4 : ""},"name ${n}",`);
    const table = await open(`id,score,name,none\n${rows.join("\n")}\n`);
    expect(table.rows).toBe(150);
    expect(table.columns).toEqual([
      { name: "id", type: "integer", nulls: 0, min: "-1", max: "148" },
      { name: "score", type: "number", nulls: 75, min: "0.25", max: "37.25" },
      { name: "name", type: "text", nulls: 0, min: "name 0", max: "name 99" },
      { name: "none", type: "empty", nulls: 150, min: undefined, max: undefined },
    ]);
    const page = await table.page(1, 3);
    expect(page.rows).toBe(100);
    expect((page.cells[0] as Cell[]).slice(0, 2)).toEqual([{ text: "null", none: true }, { text: "0.25", number: true }]);
  });

  it("says when rows are uneven", async () => {
    const table = await open("a,b\n1\n1,2,3\n1,2\n");
    expect(table.about.join()).toContain("2 rows have more or fewer fields");
    expect((await table.page(0, 2)).cells[1]).toHaveLength(3);
  });

  it("reads only the beginning of a large file", async () => {
    const text = `a\n${"1\n".repeat(10 << 20)}`;
    const { source, reads } = over("x.csv", new TextEncoder().encode(text));
    const table = await openCsv(source, ",");
    expect(table.rows).toBeUndefined();
    expect(table.factsOf).toBe((1 << 19) - 1);
    expect(reads.reduce((sum, [, length]) => sum + length, 0)).toBe(1 << 20);
  });

  it("may have very many columns", async () => {
    const wide = Array.from({ length: 20_000 }, (_, n) => String(n)).join(",");
    expect((await open(`${wide}\n${wide}\n`)).columns.length).toBeLessThanOrEqual(10_001);
  });
});
