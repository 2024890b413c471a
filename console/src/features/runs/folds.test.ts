import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { RunFoldSchema } from "@gen/flytebinary/insight/v1/runs_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSchema } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { isFolding, linesOf, outcomeOf, searchOfTrigger, titleOfFold, whyUnfolded } from "./folds";

const { ABORTED, FAILED, RUNNING, SUCCEEDED } = ActionPhase;

const run = (name: string, minute: number) =>
  create(RunSchema, { action: { id: { run: { project: "p", domain: "d", name } }, status: { phase: SUCCEEDED, startTime: timestampFromMs(minute * 60_000) } } });

const fold = (name: string, minute: number, counts: readonly (readonly [ActionPhase, number])[], older = false) =>
  create(RunFoldSchema, {
    trigger: { project: "p", domain: "d", name, taskName: "t" },
    latest: run(`${name}-latest`, minute),
    counts: counts.map(([phase, count]) => ({ phase, count })),
    older,
  });

const keys = (lines: ReturnType<typeof linesOf>) => lines.map(({ key }) => key);
const none = new Map();

describe("a folded list", () => {
  const runs = [run("c", 30), run("b", 20), run("a", 10)];

  it("has a trigger where its newest run would be", () => {
    const folds = [fold("hourly", 25, [[SUCCEEDED, 5]]), fold("nightly", 5, [[SUCCEEDED, 2]])];
    expect(keys(linesOf({ runs, more: false }, folds, none))).toEqual(["c", "fold:t/hourly", "b", "a", "fold:t/nightly"]);
  });

  it("keeps a trigger for its page, so that no line moves when more is loaded", () => {
    const folds = [fold("hourly", 25, [[SUCCEEDED, 5]]), fold("nightly", 5, [[SUCCEEDED, 2]])];
    const first = keys(linesOf({ runs, more: true }, folds, none));
    expect(first).toEqual(["c", "fold:t/hourly", "b", "a"]);
    const both = keys(linesOf({ runs: [...runs, run("z", 1)], more: false }, folds, none));
    expect(both.slice(0, first.length)).toEqual(first);
    expect(both.slice(first.length)).toEqual(["fold:t/nightly", "z"]);
  });

  it("shows a single run as itself, and the runs of an open trigger below it", () => {
    expect(keys(linesOf({ runs: [], more: false }, [fold("once", 5, [[SUCCEEDED, 1]])], none))).toEqual(["once-latest"]);
    const opened = new Map([["fold:t/hourly", [run("x", 25), run("y", 24)]]]);
    expect(keys(linesOf({ runs: [], more: false }, [fold("hourly", 25, [[SUCCEEDED, 2]])], opened))).toEqual(["fold:t/hourly", "x", "y"]);
    expect(keys(linesOf({ runs: [], more: false }, [fold("hourly", 25, [[SUCCEEDED, 5]])], opened)).at(-1)).toBe("fold:t/hourly/rest");
  });
});

describe("the words of a fold", () => {
  it.each([
    [[[SUCCEEDED, 57]], "all good"],
    [[[SUCCEEDED, 50], [FAILED, 3], [ABORTED, 1]], "3 failed, 1 aborted"],
    [[[SUCCEEDED, 5], [RUNNING, 1]], "all good, 1 unfinished"],
    [[[RUNNING, 2]], "2 unfinished"],
  ] as const)("%j is %s", (counts, words) => expect(outcomeOf(fold("f", 1, counts))).toBe(words));

  it("say that there are more", () => {
    expect(titleOfFold(fold("heartbeat", 1, [[SUCCEEDED, 57]]))).toBe("heartbeat × 57");
    expect(titleOfFold(fold("heartbeat", 1, [[SUCCEEDED, 100]], true))).toBe("heartbeat × 100+");
  });
});

describe("whether runs are folded", () => {
  it("depends on the order and on filters that ask for some of them", () => {
    expect(isFolding({})).toBe(true);
    expect([{ unfold: true }, { sort: "oldest" }, { query: "trigger:x" }, { query: "phase:failed -(trigger:x)" }, { query: "shard:7" }, { query: "phase:" }].map((search) => isFolding(search as never))).toEqual([
      false, false, false, false, false, false,
    ]);
    expect(["phase:failed", "since:24h -label:team=ml", "owner:me or task=etl.load", "train"].map((query) => isFolding({ query }))).toEqual([true, true, true, true]);
  });

  it("is explained, unless the reader has switched it off", () => {
    expect([{}, { unfold: true as const }, { query: "phase:failed" }].map(whyUnfolded)).toEqual([undefined, undefined, undefined]);
    expect(whyUnfolded({ query: "shard:7" })).toContain("inputs");
    expect(whyUnfolded({ sort: "longest" })).toContain("in this order");
  });

  it("ends in the list of one trigger", () => {
    expect(searchOfTrigger(fold("hourly", 1, []))).toEqual({ query: "trigger:hourly task=t" });
    expect(searchOfTrigger(fold("hourly", 1, []), "phase:failed or is:active")).toEqual({ query: "trigger:hourly task=t (phase:failed or is:active)" });
  });
});
