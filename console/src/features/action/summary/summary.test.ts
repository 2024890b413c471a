// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { EnrichedIdentitySchema } from "@gen/flyteidl2/common/identity_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { ActionAttemptSchema, ClusterEventSchema, ErrorInfo_Kind } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { merge } from "../use-action";
import { adviceOf, causeOf } from "./advice";
import { whoIs } from "@/entities/person/who-is";
import { segmentsOf } from "./segments";

describe("advice", () => {
  const user = ErrorInfo_Kind.USER;
  it.each([
    ["OOMKilled", "resources", /memory/],
    ["ImagePullBackOff", "pod", /registry/],
    ["MAX_RUNTIME_EXCEEDED", "logs", /max_runtime/],
    ["QUEUED_TIMEOUT_EXCEEDED", undefined, /max_queued_time/],
    ["DEADLINE_EXCEEDED", undefined, /deadline/],
    ["PodForbidden", "pod", /quota/],
  ])("of %s", (code, look, words) => {
    const advice = adviceOf({ code, kind: user });
    expect(advice?.look).toBe(look);
    expect(advice?.steps.join(" ")).toMatch(words);
  });
  it("is there for every reason of the server that is the user's", () => {
    const table = readFileSync(join(import.meta.dirname, "../../../../../docs/failures.md"), "utf8");
    const codes = [...table.matchAll(/^\| `(\w+)` \| user \|/gm)].map((row) => row[1] ?? "");
    expect(codes.length).toBeGreaterThan(20);
    for (const code of codes) expect(adviceOf({ code, kind: user })?.title, code).not.toMatch(/^The task raised [A-Z]/);
  });
  it("depends on the kind for unknown codes", () => {
    expect(adviceOf({ code: "ValueError", kind: user })?.look).toBe("logs");
    expect(adviceOf({ code: "Whatever", kind: ErrorInfo_Kind.SYSTEM })?.title).toBe("Internal platform error");
  });
  it("names the cause after too many system failures", () => {
    const advice = adviceOf({ code: "MaxSystemFailuresExceeded|Killed", kind: ErrorInfo_Kind.SYSTEM });
    expect(advice?.title).toBe("Killed (SIGKILL, exit code 137), in every attempt");
    expect(advice?.look).toBe("logs");
    expect(causeOf("MaxSystemFailuresExceeded|Killed")).toBe("Killed");
    expect(adviceOf({ code: "MaxSystemFailuresExceeded|Whatever", kind: ErrorInfo_Kind.SYSTEM })?.title).toBe("Internal platform error");
  });
  it("is not invented", () => {
    expect(adviceOf({ code: "Whatever", kind: ErrorInfo_Kind.UNSPECIFIED })).toBeUndefined();
    expect(adviceOf({ code: "constructor", kind: ErrorInfo_Kind.UNSPECIFIED })).toBeUndefined();
  });
});

it("measures the phases of an attempt, the present one up to now", () => {
  const transition = (phase: ActionPhase, from: number, to?: number) => ({
    phase,
    startTime: timestampFromMs(from),
    ...(to !== undefined && { endTime: timestampFromMs(to) }),
  });
  const running = create(ActionAttemptSchema, { phaseTransitions: [transition(ActionPhase.QUEUED, 1000, 1500), transition(ActionPhase.RUNNING, 1500)] });
  expect(segmentsOf(running, 4000)).toEqual([
    { phase: ActionPhase.QUEUED, ms: 500 },
    { phase: ActionPhase.RUNNING, ms: 2500 },
  ]);
  const done = create(ActionAttemptSchema, {
    phaseTransitions: [transition(ActionPhase.RUNNING, 1500), transition(ActionPhase.FAILED, 1800)],
    endTime: timestampFromMs(1800),
  });
  expect(segmentsOf(done, 9000).map((segment) => segment.ms)).toEqual([300, 0]);
});

it("adds events, without those that a new stream repeats", () => {
  const event = (message: string) => create(ClusterEventSchema, { message, occurredAt: timestampFromMs(1) });
  const first = merge(undefined, [event("a"), event("b")]);
  expect(merge(first, [event("a"), event("b"), event("c")]).map((one) => one.message)).toEqual(["a", "b", "c"]);
  expect(merge(first, [])).toHaveLength(2);
});

it("names people and programs by what says most", () => {
  const user = (spec: object, subject = "") => whoIs(create(EnrichedIdentitySchema, { principal: { case: "user", value: { spec, id: { subject } } } }));
  expect(user({ firstName: "Ada", lastName: "B", email: "a@b" })).toBe("Ada B");
  expect(user({ email: "a@b" }, "u1")).toBe("a@b");
  expect(user({}, "u1")).toBe("u1");
  const application = (name: string) =>
    whoIs(create(EnrichedIdentitySchema, { principal: { case: "application", value: { spec: { name }, id: { subject: "k1" } } } }));
  expect(application("p/d/r1/a0")).toBe("p/d/r1/a0");
  expect(application("")).toBe("k1");
  expect(whoIs(undefined)).toBe("");
});
