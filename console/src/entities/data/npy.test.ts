import { describe, expect, it } from "vitest";
import { fixture, over } from "./fixtures";
import { openNpy } from "./npy";

const open = (name: string) => openNpy(fixture(name).source);
const texts = ({ rows }: Awaited<ReturnType<typeof openNpy>>) => rows.map((row) => row.map(({ text }) => text));

describe("an array that NumPy saved", () => {
  it("has a shape, a type, values and statistics", async () => {
    const array = await open("matrix.npy");
    expect(array).toMatchObject({ shape: [3, 4], dtype: "float64", fortran: false, min: "0", max: "5.5", mean: "2.75", total: 12, labels: ["0", "1", "2"] });
    expect(texts(array)).toEqual([["0", "0.5", "1", "1.5"], ["2", "2.5", "3", "3.5"], ["4", "4.5", "5", "5.5"]]);
  });
  it("may be in Fortran order", async () => {
    const array = await open("fortran.npy");
    expect(array).toMatchObject({ shape: [2, 3, 4], fortran: true, labels: ["0, 0", "0, 1", "0, 2", "1, 0", "1, 1", "1, 2"] });
    expect(texts(array)[0]).toEqual(["0", "1", "2", "3"]);
    expect(texts(array)[5]).toEqual(["20", "21", "22", "23"]);
  });
  it.each([
    ["big-endian.npy", "int16", [["1", "-2", "300"]]],
    ["half.npy", "float16", [["0.5", "-1.25", "Infinity", "NaN", "5.960464477539063e-8"]]],
    ["complex.npy", "complex64", [["1+2j", "0-3.5j"]]],
    ["texts.npy", "str2", [["ab", "ü€", ""]]],
    ["scalar.npy", "int64", [["1152921504606846976"]]],
    ["empty.npy", "float64", []],
  ])("may have elements of other types: %s", async (name, dtype, rows) => {
    const array = await open(name);
    expect(array.dtype).toBe(dtype);
    expect(texts(array)).toEqual(rows);
  });
  it.each([
    ["records.npy", "elements of type"],
    ["objects.npy", "elements of type |O"],
    ["short.npy", "shorter than its header says"],
  ])("that cannot be shown says why: %s", async (name, words) => {
    await expect(open(name)).rejects.toThrow(words);
  });
});

it("reads only the beginning of a large array", async () => {
  const header = "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000,), }";
  const head = Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, header.length, 0, ...new TextEncoder().encode(header));
  const data = new Uint8Array(head.length + (5 << 20));
  data.set(head);
  const { source, reads } = over("x.npy", data, head.length + 800_000_000);
  expect(await openNpy(source)).toMatchObject({ total: 100_000_000, read: (4 << 20) / 8, min: "0" });
  expect(reads.reduce((sum, [, length]) => sum + length, 0)).toBeLessThan(5 << 20);
});

it.each([
  ["(1, -5)"],
  ["(1e9,)"],
])("does not take a wrong header: %s", async (shape) => {
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': ${shape}, }`;
  const head = Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, header.length, 0, ...new TextEncoder().encode(header));
  await expect(openNpy(over("x.npy", head).source)).rejects.toThrow("damaged");
});

it("refuses elements of no or enormous size", async () => {
  for (const type of ["<U0", "|S0", "<U99999999999"]) {
    const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (3,), }`;
    const head = Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, header.length, 0, ...new TextEncoder().encode(header));
    const opened = openNpy(over("x.npy", head).source);
    if (type === "<U99999999999") await expect(opened).rejects.toThrow("damaged");
    else expect(texts(await opened)).toEqual([["", "", ""]]);
  }
});
