import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { TriggerSummarySchema } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { troubledOf, worstFirst } from "./triggers";

const { FAILED, RUNNING, SUCCEEDED, TIMED_OUT } = ActionPhase;
const minute = 60_000;
const now = Date.parse("2026-11-26T12:00:00Z");
const place = { project: "p", domain: "d" };

const summary = (name: string, next: number | undefined, latest: readonly ActionPhase[]) =>
  create(TriggerSummarySchema, {
    trigger: { taskName: "t", name },
    ...(next !== undefined && { next: timestampFromMs(now + next * minute) }),
    latest: latest.map((phase, at) => ({ phase, slot: { time: timestampFromMs(now - (at + 1) * minute), runId: { name: `${name}-${at}` } } })),
  });

const troubled = (since: number, ...summaries: readonly ReturnType<typeof summary>[]) => troubledOf(place, summaries, now - since * minute, now);

describe("triggers that need attention", () => {
  it("are those whose run is overdue by more than a minute", () => {
    expect(troubled(60, summary("soon", 5, [SUCCEEDED]), summary("due", -1, []), summary("late", -2, []), summary("off", undefined, [])).map(({ trigger }) => trigger.name)).toEqual(["late"]);
  });

  it("are those of whose latest runs some failed, with the last one", () => {
    const [one, ...others] = troubled(60, summary("bad", 1, [RUNNING, FAILED, TIMED_OUT]), summary("good", 1, [RUNNING, SUCCEEDED]));
    expect(others).toEqual([]);
    expect(one).toMatchObject({ failed: 2, of: 3, run: "bad-1", overdue: undefined, trigger: { project: "p", domain: "d", taskName: "t" } });
  });

  it("are not those that failed before the last look", () => {
    expect(troubled(1.5, summary("bad", 1, [SUCCEEDED, FAILED]))).toEqual([]);
    expect(troubled(2, summary("bad", 1, [SUCCEEDED, FAILED]))).toHaveLength(1);
  });

  it("come with the one first that is overdue for longest, then with the one that failed last", () => {
    const all = troubled(60, summary("failed before", 1, [SUCCEEDED, FAILED]), summary("failed", 1, [FAILED]), summary("late", -2, []), summary("later", -9, [FAILED]));
    expect([...all].sort(worstFirst).map(({ trigger }) => trigger.name)).toEqual(["later", "late", "failed", "failed before"]);
  });
});
