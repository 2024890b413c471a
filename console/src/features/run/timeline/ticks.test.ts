import { expect, it } from "vitest";
import { WallClock } from "@/design/wall-clock";
import { relativeTicks, sinceStart, stepFor, wallTicks } from "./ticks";

const minute = 60_000;
const hour = 60 * minute;

it("counts in steps that people count in", () => {
  expect([stepFor(1000, 10), stepFor(7000, 10), stepFor(8 * minute, 10), stepFor(26 * hour, 10), stepFor(3 * 365 * 24 * hour, 2)]).toEqual([
    100,
    1000,
    minute,
    3 * hour,
    2 * 364 * 24 * hour,
  ]);
});

it("marks the time since the start, and nothing before it", () => {
  expect(relativeTicks({ from: -500, to: 5000 }, 6).map((tick) => tick.label)).toEqual(["0", "1 s", "2 s", "3 s", "4 s", "5 s"]);
  expect(relativeTicks({ from: 3 * hour, to: 3 * hour + 10 * minute }, 4).map((tick) => tick.label)).toEqual(["3 h", "3 h 5 m", "3 h 10 m"]);
});

it("says times as exactly as the step needs", () => {
  expect([sinceStart(1250, 50), sinceStart(40, 20), sinceStart(65_000, 5000), sinceStart(25 * hour + minute, minute)]).toEqual([
    "1.25 s",
    "40 ms",
    "1 m 5 s",
    "1 d 1 h 1 m",
  ]);
});

it("marks round times of the reader's zone", () => {
  const createdAt = Date.UTC(2026, 0, 5, 18, 20);
  const ticks = wallTicks({ from: 0, to: hour }, 5, createdAt, new WallClock("Asia/Kolkata")); // ahead by 5:30
  expect(ticks.map((tick) => [tick.label, tick.strong])).toEqual([
    ["2026-01-06", true],
    ["00:15", false],
    ["00:30", false],
    ["00:45", false],
  ]);
  expect(ticks[0]?.at).toBe(10 * minute);
});

it("is not led astray when clocks are put forward or back", () => {
  const clock = new WallClock("Europe/Berlin");
  const labels = (at: number) => wallTicks({ from: 0, to: 6 * hour }, 7, at, clock).map((tick) => tick.label);
  expect(labels(Date.UTC(2026, 2, 28, 23))).toEqual(["2026-03-29", "01:00", "03:00", "04:00", "05:00", "06:00", "07:00"]);
  expect(labels(Date.UTC(2026, 9, 24, 22))).toEqual(["2026-10-25", "01:00", "02:00", "03:00", "04:00", "05:00"]);
});

it("shows parts of seconds when looked at closely", () => {
  const ticks = wallTicks({ from: 0, to: 20 }, 4, Date.UTC(2026, 0, 1, 12), new WallClock("UTC"));
  expect(ticks.map((tick) => tick.label)).toEqual(["12:00:00.000", "12:00:00.005", "12:00:00.010", "12:00:00.015", "12:00:00.020"]);
});
