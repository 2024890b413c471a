import { describe, expect, it } from "vitest";
import { unpack } from "./msgpack";
import type { Value } from "./value-type";
import { json } from "./write-json";

const bytes = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
const decode = (hex: string): Value => unpack(bytes(hex));

describe("msgpack", () => {
  it.each([
    ["02", "2"],
    ["cb4000000000000000", "2.0"],
    ["ca3fc00000", "1.5"],
    ["cf0020000000000001", "9007199254740993"],
    ["d38000000000000000", "-9223372036854775808"],
  ])("tells integers from floats, and keeps all digits: %s is %s", (hex, digits) => {
    expect(decode(hex)).toMatchObject({ kind: "number", digits });
  });
  it("keeps the order of keys, duplicates and unusual keys", () => {
    expect(json(decode("84a162010a02a16203a95f5f70726f746f5f5f04"), 0)).toBe('{"b":1,"10":2,"b":3,"__proto__":4}');
  });
  it("accepts numbers, booleans and null as keys", () => {
    expect(json(decode("84c001c302cb3ff000000000000003d3000000000000000504"), 0)).toBe('{"null":1,"true":2,"1.0":3,"5":4}');
  });
  it("does not confuse text with numbers in keys", () => {
    expect(decode("82a1310131a0")).toMatchObject({ entries: [["1", { kind: "number" }], ["49", { kind: "text", text: "" }]] });
  });
  it("reads timestamps of all three lengths", () => {
    expect(decode("d6ff00000001")).toMatchObject({ kind: "time", iso: "1970-01-01T00:00:01Z" });
    expect(decode("d7ff00000fa000000001")).toMatchObject({ kind: "time", iso: "1970-01-01T00:00:01.000001Z" });
    expect(decode("c70cff000003e8ffffffffffffffff")).toMatchObject({ kind: "time", iso: "1969-12-31T23:59:59.000001Z" });
  });
  it("shows other extensions as bytes", () => {
    expect(decode("d4052a")).toEqual({ kind: "bytes", bytes: Uint8Array.of(42), tag: "" });
  });
  it.each([
    ["81c40101", "a key of bytes"],
    ["dd7fffffff", "a length beyond the input"],
    ["9201", "a value that is cut off"],
    ["0101", "two values"],
    [`${"91".repeat(200)}01`, "a value that is nested too deep"],
  ])("refuses %s: %s", (hex) => {
    expect(() => decode(hex)).toThrow();
  });
});
