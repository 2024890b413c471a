import { describe, expect, it } from "vitest";
import { fixture, over } from "./fixtures";
import type { ArrayData } from "./npy";
import { openNpz, type NamedArray } from "./npz";

const open = (name: string) => openNpz(fixture(name).source);
const values = ({ array }: NamedArray) => (array as ArrayData).rows.map((row) => row.map(({ text }) => text));

describe("arrays that NumPy saved", () => {
  it.each(["stored", "compressed"])("have names, shapes, types and first values: %s", async (kind) => {
    const { arrays, total } = await open(kind === "stored" ? "arrays-stored.npz.gz" : "arrays-compressed.npz");
    expect(total).toBe(4);
    expect(arrays.map(({ name, array }) => [name, typeof array === "string" ? array : `${array.shape.join("x")} ${array.dtype}`])).toEqual([
      ["weights", "3x4 float64"],
      ["arr_0", "3 int16"],
      ["large", "1000000 int32"],
      ["objects", expect.stringContaining("elements of type |O")],
    ]);
    expect(arrays.slice(0, 2).map(values)).toEqual([
      [["0", "0.5", "1", "1.5"], ["2", "2.5", "3", "3.5"], ["4", "4.5", "5", "5.5"]],
      [["1", "-2", "300"]],
    ]);
    expect(arrays[2]?.array).toMatchObject({ total: 1_000_000, read: (128 << 10) / 4, min: "7", max: "7" });
  });

  it("are read no further than they are shown", async () => {
    const { source, reads } = fixture("arrays-compressed.npz");
    await openNpz(source);
    expect(reads).toHaveLength(1); // a small file is read once
    const data = await source.read(0, source.size);
    const large = over("x.npz", data, data.length);
    const asked: number[] = [];
    await openNpz({ ...large.source, read: (from, to) => (asked.push(to - from), large.source.read(from, to)) });
    expect(Math.max(...asked)).toBeLessThanOrEqual(22 + 0xffff + 20);
  });

  it("may be many, of which the first are opened", async () => {
    const { arrays, total } = await open("arrays-many.npz.gz");
    expect([arrays.length, total]).toEqual([50, 120]);
    expect(values(arrays[49] as NamedArray)).toEqual([["49"]]);
  });
});

describe("a damaged archive says what is wrong", () => {
  const whole = async () => {
    const { source } = fixture("arrays-compressed.npz");
    return await source.read(0, source.size);
  };
  it("without its end", async () => {
    const data = await whole();
    await expect(openNpz(over("x.npz", data.slice(0, data.length - 30)).source)).rejects.toThrow("no list of its files");
  });
  it("with a wrong place of its list", async () => {
    const data = await whole();
    new DataView(data.buffer).setUint32(data.length - 6, 1, true);
    await expect(openNpz(over("x.npz", data).source)).rejects.toThrow("no list of its files");
  });
  it("with data that is not what it says", async () => {
    const data = await whole();
    data.fill(0xff, 60, 90);
    const { arrays } = await openNpz(over("x.npz", data).source);
    expect(arrays[0]?.array).toEqual(expect.any(String));
    expect(values(arrays[1] as NamedArray)).toEqual([["1", "-2", "300"]]);
  });
  it("and of random bytes does nothing else than say so", async () => {
    const data = await whole();
    let seed = 7;
    const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
    for (let round = 0; round < 60; round++) {
      const broken = data.slice();
      for (let n = 0; n < 8; n++) broken[random(broken.length)] = random(256);
      await openNpz(over("x.npz", broken).source).catch((error: unknown) => expect((error as Error).name).toBe("NoPreviewError"));
    }
  });
});
