import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Md5, md5Of } from "./md5";

const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 31 + 7) & 255);

describe("MD5", () => {
  it.each([0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000, 100_003])("of %i bytes is that of everybody else", (length) => {
    expect(hex(new Md5().add(bytes(length)).end())).toBe(createHash("md5").update(bytes(length)).digest("hex"));
  });
  it("does not depend on the parts", () => {
    const all = bytes(1003);
    const digest = new Md5();
    for (let from = 0, size = 1; from < all.length; from += size, size = (size % 97) + 1) digest.add(all.subarray(from, from + size));
    expect(hex(digest.end())).toBe(createHash("md5").update(all).digest("hex"));
  });
  it("of a file tells how far it is", async () => {
    const told: number[] = [];
    const digest = await md5Of(new Blob([bytes((1 << 20) + 5)]), new AbortController().signal, (done) => told.push(done));
    expect(hex(digest)).toBe(createHash("md5").update(bytes((1 << 20) + 5)).digest("hex"));
    expect(told).toEqual([1 << 20, (1 << 20) + 5]);
  });
  it("of a file ends when nobody wants it", async () => {
    const control = new AbortController();
    control.abort();
    await expect(md5Of(new Blob([bytes(5)]), control.signal, () => undefined)).rejects.toThrow();
  });
});
