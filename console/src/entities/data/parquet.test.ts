import { describe, expect, it } from "vitest";
import { fixture, over } from "./fixtures";
import { openParquet } from "./parquet";
import { bounded } from "./source";
import type { Cell, TableData } from "./table-data";

const open = (name: string) => openParquet(fixture(name).source);

async function columnsOf(table: TableData): Promise<Map<string, readonly Cell[] | string>> {
  const page = await table.page(0, table.columns.length);
  return new Map(page.columns.map(({ name }, at) => [name, page.cells[at] ?? []]));
}

const texts = (cells: readonly Cell[] | string | undefined): unknown => (Array.isArray(cells) ? (cells as Cell[]).map(({ text }) => text) : cells);

describe("a table that pyarrow wrote", () => {
  it.each(["snappy", "zstd", "gzip", "brotli", "lz4", "none", "v2"])("is read with its facts: %s", async (kind) => {
    const table = await open(`table-${kind}.parquet`);
    expect(table.rows).toBe(250);
    expect(Object.fromEntries(table.columns.map(({ name, type }) => [name, type]))).toEqual({
      id: "int64", score: "float64", name: "string", active: "bool", at: "timestamp", zoned: "timestamp (UTC)", day: "date", price: "decimal(12, 2)",
      huge: "int64", raw: "bytes", tags: "list<string>", place: "struct<city: string, zip: int64>", kind: "string", nothing: "null",
    });
    const facts = new Map(table.columns.map((column) => [column.name, column]));
    expect(facts.get("score")).toMatchObject({ nulls: 25, min: "0", max: "62.25" });
    expect(facts.get("name")).toMatchObject({ nulls: 5, min: "customer 0", max: "customer 99" });
    expect(facts.get("huge")).toMatchObject({ nulls: 0, min: "9223372036854775558", max: "9223372036854775807" });
    expect(facts.get("at")).toMatchObject({ min: "2026-01-01T12:30:00.123456", max: "2026-01-11T21:30:00.123456" });
    expect(facts.get("day")).toMatchObject({ min: "2026-01-01", max: "2026-09-07" });
    expect(facts.get("nothing")).toMatchObject({ min: undefined });
    expect(facts.get("tags")).toMatchObject({ nulls: undefined, min: undefined });
    const columns = await columnsOf(table);
    const cell = (name: string, row: number) => (columns.get(name)?.[row] as Cell).text;
    for (const name of columns.keys()) expect(columns.get(name), name).toHaveLength(100);
    expect([cell("id", 99), cell("score", 3), cell("score", 99), cell("name", 2), cell("active", 3)]).toEqual(["99", "null", "24.75", "customer 2", "true"]);
    expect([cell("at", 1), cell("zoned", 0), cell("day", 1)]).toEqual(["2026-01-01T13:30:00.123456", "2026-01-01T12:30:00.123456", "2026-01-02"]);
    expect([cell("price", 7), cell("huge", 0), cell("raw", 1)]).toEqual(["0.07", "9223372036854775807", "01 ff"]);
    expect([cell("tags", 3), cell("tags", 4), cell("place", 8), cell("kind", 4), cell("nothing", 0)]).toEqual([
      '["t0","t1","t2"]', "[]", '{"city":"c1","zip":8}', "b", "null",
    ]);
  });

  it("may be empty, and have an index of pandas", async () => {
    const empty = await open("table-empty.parquet");
    expect(empty.rows).toBe(0);
    expect((await empty.page(0, 3)).rows).toBe(0);
    const pandas = await columnsOf(await open("table-pandas.parquet"));
    expect(texts(pandas.get("__index_level_0__"))).toEqual(["r1", "r2"]);
    expect(texts(pandas.get("b"))).toEqual(["x", "null"]);
  });

  it.each(["plain", "hadoop"])("may have blocks of LZ4 as older writers made them: %s", async (kind) => {
    const table = await open(`table-lz4-${kind}.parquet`);
    expect(table.about[0]).toContain("lz4");
    expect(table.about[0]).not.toContain("lz4_raw");
    const cells = (await columnsOf(table)).get("word");
    expect(cells).toHaveLength(100);
    expect((texts(cells) as string[]).slice(0, 4)).toEqual(["word 0", "word 1", "word 2", "word 0"]);
  });

  it("says which column it cannot decompress", async () => {
    const { source } = fixture("table-none.parquet");
    const data = await source.read(0, source.size);
    const footer = data.length - 8 - new DataView(data.buffer).getUint32(data.length - 8, true);
    const codec = [0x15, 0x00, 0x16]; // of a chunk of a column: not compressed; then the number of its values
    let changed = 0;
    for (let at = footer; at < data.length - 3; at++) {
      if (codec.every((byte, offset) => data[at + offset] === byte)) {
        data[at + 1] = 3 << 1; // LZO
        changed++;
      }
    }
    expect(changed).toBeGreaterThan(14);
    const columns = await columnsOf(await openParquet(over("table.parquet", data).source));
    expect(columns.get("id")).toBe("compressed with LZO, which the console does not read");
  });

  it("decompresses no page of Brotli beyond its bound", async () => {
    const columns = await columnsOf(await open("table-bomb-brotli.parquet"));
    expect(columns.get("zeros")).toBe("too large: a page has 100 MiB");
    expect(texts(columns.get("fine"))).toEqual(["1"]);
  });
});

describe("bounds", () => {
  it("reads the beginning of a large column only", async () => {
    const { source, reads } = fixture("table-large.parquet.gz");
    expect(source.size).toBeGreaterThan(2_300_000);
    const columns = await columnsOf(await openParquet(source));
    expect(columns.get("long")).toHaveLength(100); // they take more than the first part, so a second one is read
    expect(texts(columns.get("n"))).toHaveLength(100);
    const page = await (await openParquet(fixture("table-large.parquet.gz").source)).page(1, 2);
    expect(page.cells[0]).toHaveLength(100);
    expect(reads.every(([, length]) => length <= 4 << 20)).toBe(true);
  });

  it("reads few columns of 5,000", async () => {
    const { source, reads } = fixture("table-wide.parquet.gz");
    const table = await openParquet(source);
    expect(table.columns).toHaveLength(5000);
    const before = reads.length;
    const page = await table.page(30, 60);
    expect(page.columns[0]?.name).toBe("c0030");
    expect(texts(page.cells[29])).toEqual(["59"]);
    expect(reads.length - before).toBe(30);
    expect(reads.reduce((sum, [, length]) => sum + length, 0)).toBeLessThan(source.size + (300 << 10));
  });

  it("does not unpack a page that becomes enormous", async () => {
    const columns = await columnsOf(await open("table-bomb.parquet"));
    expect(columns.get("zeros")).toMatch(/^too large: a page has 1\d\d\.?\d* M/);
    expect(texts(columns.get("fine"))).toEqual(["1"]);
  });

  it("stops at its budget", async () => {
    const source = bounded("x.parquet", 100 << 20, (_, length) => Promise.resolve(new Uint8Array(length)), 10 << 20);
    await source.read(0, 8 << 20);
    await expect(source.read(0, 8 << 20)).rejects.toThrow("Download the file");
  });
});

describe("a damaged file says what is wrong", () => {
  it.each([
    ["table-cut.parquet", "does not end with a footer"],
    ["table-footer.parquet", "its footer claims to have"],
    ["table-garbled.parquet", "The footer of the file is damaged"],
  ])("%s", async (name, words) => {
    await expect(open(name)).rejects.toThrow(words);
  });
  it("too short", async () => {
    await expect(openParquet(over("x.parquet", new TextEncoder().encode("PAR1PAR1")).source)).rejects.toThrow("too short");
  });
  it("a column that is not what the footer says", async () => {
    const { source } = fixture("table-none.parquet");
    const data = await source.read(0, source.size);
    data.fill(0xff, 4, 600);
    const columns = await columnsOf(await openParquet(over("x.parquet", data).source));
    expect(columns.get("id")).toMatch(/^damaged: /);
    expect(columns.get("kind")).toHaveLength(100);
  });
  it("a file of random bytes never does anything else than fail", async () => {
    let seed = 1;
    const { source } = fixture("table-snappy.parquet");
    const whole = await source.read(0, source.size);
    for (let round = 0; round < 200; round++) {
      const data = whole.slice();
      for (let change = 0; change < 10; change++) {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        data[seed % data.length] = seed >> 16;
      }
      try {
        const table = await openParquet(over("x.parquet", data).source);
        await table.page(0, 20);
      } catch (error) {
        expect((error as Error).name).toBe("NoPreviewError");
      }
    }
  });
});
