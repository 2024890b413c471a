import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { RunSummarySchema } from "@gen/flytebinary/insight/v1/runs_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { outlookOf, progressOf } from "./progress";

const { FAILED, QUEUED, RUNNING, SUCCEEDED } = ActionPhase;

describe("the progress of a run", () => {
  it("leaves the root out", () => {
    const counts = new Map([
      [RUNNING, 3],
      [QUEUED, 7],
      [SUCCEEDED, 30],
      [FAILED, 1],
    ]);
    expect(progressOf(counts, RUNNING)).toMatchObject({ done: 31, all: 40 });
    expect(progressOf(counts, RUNNING)?.counts.get(RUNNING)).toBe(2);
  });

  it("is unknown without counts, for a root alone, and for counts from before the root's phase", () => {
    expect(progressOf(new Map(), RUNNING)).toBeUndefined();
    expect(progressOf(new Map([[RUNNING, 1]]), RUNNING)).toBeUndefined();
    expect(progressOf(new Map([[QUEUED, 1]]), RUNNING)).toBeUndefined();
  });
});

describe("the expected end", () => {
  const started = Date.parse("2026-11-26T12:00:00Z");
  const minute = 60_000;
  const run = (more: object = {}) =>
    create(RunSummarySchema, {
      startedAt: timestampFromMs(started),
      usual: { p50: durationFromMs(10 * minute), p90: durationFromMs(20 * minute), runs: 8 },
      ...more,
    });

  it("is the median, then what nine in ten took, then late", () => {
    expect(outlookOf(run(), started + 5 * minute)).toEqual({ kind: "by", at: new Date(started + 10 * minute), nine: false });
    expect(outlookOf(run(), started + 15 * minute)).toEqual({ kind: "by", at: new Date(started + 20 * minute), nine: true });
    expect(outlookOf(run(), started + 25 * minute)).toEqual({ kind: "late" });
  });

  it("is unknown without history, and before the start", () => {
    expect(outlookOf(create(RunSummarySchema, { startedAt: timestampFromMs(started) }), started)).toBeUndefined();
    const { usual } = run();
    expect(outlookOf(create(RunSummarySchema, { ...(usual && { usual }) }), started)).toBeUndefined();
  });
});
