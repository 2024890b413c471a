import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { FixedRateUnit, TriggerAutomationSpecSchema, TriggerAutomationSpecType } from "@gen/flyteidl2/task/common_pb.js";
import { TriggerSearch, TriggersSearch } from "./search";
import { automationWords, filtersOf, utcOf } from "./words";

const spec = (expression: Parameters<typeof create<typeof TriggerAutomationSpecSchema>>[1]) => create(TriggerAutomationSpecSchema, expression);

test("automations in words", () => {
  const schedule = TriggerAutomationSpecType.TYPE_SCHEDULE;
  // The older form of cron expressions makes the linter take all for deprecated.
  /* eslint-disable @typescript-eslint/no-deprecated -- see above */
  const cron = (timezone: string) =>
    spec({ type: schedule, automation: { case: "schedule", value: { expression: { case: "cron", value: { expression: "0 9 * * 1", timezone } } } } });
  const rate = (value: number, unit: FixedRateUnit) =>
    spec({ type: schedule, automation: { case: "schedule", value: { expression: { case: "rate", value: { value, unit } } } } });
  /* eslint-enable @typescript-eslint/no-deprecated -- see above */
  expect(automationWords(cron("Europe/Berlin"))).toBe("0 9 * * 1 (Europe/Berlin)");
  expect(automationWords(cron(""))).toBe("0 9 * * 1 (UTC)");
  expect(automationWords(rate(1, FixedRateUnit.DAY))).toBe("every day");
  expect(automationWords(rate(90, FixedRateUnit.MINUTE))).toBe("every 90 minutes");
  expect(automationWords(spec({ type: TriggerAutomationSpecType.TYPE_NONE }))).toBe("manual");
  const artifact = { artifactName: "m", version: "1", partitions: { region: "us", kind: "a" } };
  expect(automationWords(spec({ automation: { case: "artifact", value: { artifactName: "m" } } }))).toBe("on artifact: m");
  expect(automationWords(spec({ automation: { case: "artifact", value: artifact } }))).toBe("on artifact: m@1 (kind=a, region=us)");
  expect(automationWords(undefined)).toBe("unknown");
});

test("the URL holds the filters", () => {
  expect(TriggersSearch({ q: 12, active: false, kind: "schedule", task: "env.main", other: "x" })).toEqual({
    q: "12",
    active: false,
    kind: "schedule",
    task: "env.main",
  });
  expect(TriggersSearch({ q: "", active: "no", kind: "never", task: {} })).toEqual({});
  expect(TriggersSearch({ kind: "artifact" })).toEqual({ kind: "artifact" });
  expect(TriggerSearch({ tab: "revisions" })).toEqual({ tab: "revisions" });
  expect(TriggerSearch({ tab: "slots" })).toEqual({});
});

test("filters of the list", () => {
  expect(filtersOf({})).toEqual([]);
  expect(filtersOf({ q: "a", active: true, kind: "none" })).toEqual([
    { function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: ["a"] },
    { function: Filter_Function.EQUAL, field: "active", values: ["true"] },
    { function: Filter_Function.EQUAL, field: "automation_type", values: ["none"] },
  ]);
});

test("times of a backfill are UTC", () => {
  expect(utcOf("2026-06-01T12:30")?.toISOString()).toBe("2026-06-01T12:30:00.000Z");
  expect(utcOf("2026-06-01T12:30:15")?.toISOString()).toBe("2026-06-01T12:30:15.000Z");
  expect(utcOf("2026-13-01T12:30")).toBeUndefined();
  expect(utcOf("tomorrow")).toBeUndefined();
});
