import { describe, expect, it } from "vitest";
import { ago, bytes, duration, exactly, moment } from "./format";

describe("durations", () => {
  it.each([
    [0, "0 ms"],
    [850, "850 ms"],
    [4249, "4.2 s"],
    [59_999, "59.9 s"],
    [60_000, "1 m"],
    [185_000, "3 m 05 s"],
    [3_600_000, "1 h"],
    [187_200_000, "2 d 04 h"],
    [-1, "–"],
    [Number.NaN, "–"],
  ])("%d ms is %s", (ms, text) => expect(duration(ms)).toBe(text));
});

describe("moments", () => {
  const at = new Date("2026-03-01T23:30:05.042Z");
  it("leaves out today", () => expect(moment(at, "UTC", new Date("2026-03-01T01:00:00Z"))).toBe("23:30:05"));
  it("has the date of another day", () => expect(moment(at, "UTC", new Date("2026-03-02T01:00:00Z"))).toBe("2026-03-01 23:30:05"));
  it("follows the zone", () => expect(exactly(at, "Asia/Tokyo")).toBe("2026-03-02 08:30:05.042 GMT+9"));
});

it("says how long ago", () => {
  expect(ago(1000)).toBe("just now");
  expect(ago(125_000)).toBe("2 m ago");
});

it("says how much", () => {
  expect(bytes(512)).toBe("512 B");
  expect(bytes(1536)).toBe("1.5 KiB");
  expect(bytes(10 * 1024 ** 3)).toBe("10 GiB");
});
