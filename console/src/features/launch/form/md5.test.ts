import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { md5Of } from "./md5";

const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 31 + 7) & 255);
const never = new AbortController().signal;

describe("the MD5 digest of a file", () => {
  it.each([0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000, 100_003])("of %i bytes equals that of Node", async (length) => {
    const digest = await md5Of(new Blob([bytes(length)]), never, () => undefined);
    expect(hex(digest)).toBe(createHash("md5").update(bytes(length)).digest("hex"));
  });
  it("is computed over several parts, and reports its progress", async () => {
    const progress: number[] = [];
    const digest = await md5Of(new Blob([bytes((1 << 20) + 5)]), never, (done) => progress.push(done));
    expect(hex(digest)).toBe(createHash("md5").update(bytes((1 << 20) + 5)).digest("hex"));
    expect(progress).toEqual([1 << 20, (1 << 20) + 5]);
  });
  it("rejects when it is aborted", async () => {
    const control = new AbortController();
    control.abort();
    await expect(md5Of(new Blob([bytes(5)]), control.signal, () => undefined)).rejects.toThrow();
  });
});
