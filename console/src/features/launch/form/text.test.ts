import { describe, expect, it } from "vitest";
import { parseFloating, parseInteger, parseSpan, parseTime, spanText } from "./text";

describe("numbers", () => {
  it.each([
    ["7", "7"],
    [" -12 ", "-12"],
    ["1_000 000", "1000000"],
    ["9223372036854775807", "9223372036854775807"],
    ["9223372036854775808", undefined],
    ["-9223372036854775808", "-9223372036854775808"],
    ["1.5", undefined],
    ["1e3", undefined],
    ["", undefined],
    ["_1", undefined],
  ])("whole: %j is %j", (text, digits) => expect(parseInteger(text)).toBe(digits));
  it.each([
    ["1.5", 1.5],
    [".5", 0.5],
    ["-2e-3", -0.002],
    ["7", 7],
    ["inf", Infinity],
    ["-Infinity", -Infinity],
    ["nan", NaN],
    ["1e999", undefined],
    ["x", undefined],
    ["", undefined],
  ])("with a point: %j is %j", (text, value) => expect(parseFloating(text)).toEqual(value));
});

describe("spans of time", () => {
  it.each([
    ["90", 90],
    ["1h30m", 5400],
    ["2d 4h", 187_200],
    ["1.5h", 5400],
    ["250ms", 0.25],
    ["-3s", -3],
    ["01:30:00", 5400],
    ["00:10", 600],
    ["PT1H30M", 5400],
    ["P2DT1S", 172_801],
    ["1h30m0s", 5400],
    ["P", undefined],
    ["soon", undefined],
    ["1h x", undefined],
    ["", undefined],
  ])("%j is %j seconds", (text, value) => expect(parseSpan(text)).toBe(value));
  it("are told in seconds", () => expect([spanText(5400), spanText(0.1 + 0.2)]).toEqual(["5400s", "0.3s"]));
});

describe("moments", () => {
  it.each([
    ["2026-01-31T12:00:00Z", "UTC", "2026-01-31T12:00:00Z"],
    ["2026-01-31 12:00", "UTC", "2026-01-31T12:00:00Z"],
    ["2026-01-31", "Europe/Berlin", "2026-01-30T23:00:00Z"],
    ["2026-07-31 12:00", "Europe/Berlin", "2026-07-31T10:00:00Z"],
    ["2026-01-31T12:00:00.123456+05:30", "UTC", "2026-01-31T06:30:00.123456Z"],
    ["2026-01-31T12:00:00-0800", "UTC", "2026-01-31T20:00:00Z"],
    // An hour before and after clocks are put forward.
    ["2026-03-29 01:30", "Europe/Berlin", "2026-03-29T00:30:00Z"],
    ["2026-03-29 03:30", "Europe/Berlin", "2026-03-29T01:30:00Z"],
    ["2026-02-30", "UTC", undefined],
    ["tomorrow", "UTC", undefined],
    ["", "UTC", undefined],
  ])("%j in %s is %j", (text, zone, moment) => expect(parseTime(text, zone)).toBe(moment));
});
