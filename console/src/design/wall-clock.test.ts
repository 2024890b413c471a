import { expect, it } from "vitest";
import { WallClock } from "./wall-clock";

it.each([
  ["UTC", "2026-07-31T12:00:00.000", "2026-07-31T12:00:00.000Z"],
  ["Asia/Kolkata", "2026-01-06T00:00:00.000", "2026-01-05T18:30:00.000Z"],
  ["Europe/Berlin", "2026-03-29T01:59:59.000", "2026-03-29T00:59:59.000Z"],
  ["Europe/Berlin", "2026-03-29T03:00:00.000", "2026-03-29T01:00:00.000Z"],
  ["Europe/Berlin", "2026-10-25T01:59:59.999", "2026-10-24T23:59:59.999Z"],
  ["Europe/Berlin", "2026-10-25T02:30:00.000", "2026-10-25T00:30:00.000Z"], // the first of two
  ["Europe/Berlin", "2026-10-25T03:00:00.000", "2026-10-25T02:00:00.000Z"],
  ["Pacific/Apia", "2011-12-31T00:00:00.000", "2011-12-30T10:00:00.000Z"], // which had no day before
])("in %s it shows %s at %s", (zone, shown, at) => {
  const clock = new WallClock(zone);
  expect(clock.text(Date.parse(at))).toBe(shown);
  expect(new Date(clock.moment(Date.parse(`${shown}Z`))).toISOString()).toBe(at);
});

it("takes a time that is left out for one as long after the change", () => {
  expect(new Date(new WallClock("Europe/Berlin").moment(Date.parse("2026-03-29T02:30Z"))).toISOString()).toBe("2026-03-29T01:30:00.000Z");
});
