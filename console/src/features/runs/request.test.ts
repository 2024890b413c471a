import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { Filter_Function, Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSchema, RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { merged, refreshed } from "./merge";
import { canBeLive, listRequest, matches, runsRequest } from "./request";
import { nameOf, phaseOf } from "@/entities/run/listed";
import type { RunsSearch } from "./search";

const now = Date.parse("2026-03-01T12:00:00Z");

function run(
  name: string,
  more: { phase?: ActionPhase; minutes?: number; task?: string; owner?: string; labels?: Record<string, string>; source?: RunSource } = {},
): Run {
  return create(RunSchema, {
    labels: more.labels ?? {},
    action: {
      id: { run: { project: "p", domain: "d", name }, name: "a0" },
      status: { phase: more.phase ?? ActionPhase.RUNNING, startTime: timestampFromMs(now - (more.minutes ?? 0) * 60_000) },
      metadata: {
        source: more.source ?? RunSource.CLI,
        executedBy: { principal: { case: "user", value: { id: { subject: more.owner ?? "ada" } } } },
        spec: { case: "task", value: { id: { name: more.task ?? "pkg.main" } } },
      },
    },
  });
}

describe("the request", () => {
  it("is for the newest when nothing is said", () => {
    const request = listRequest({}, now, 100);
    expect(request.filters).toEqual([]);
    expect(request.sortByFields).toMatchObject([{ key: "created_at", direction: Sort_Direction.DESCENDING }]);
  });
  it("has every condition", () => {
    const search: RunsSearch = {
      phases: "failed,aborted",
      task: "train",
      owner: "ada",
      labels: ["team=ml", "gpu"],
      source: "cli",
      since: "24h",
      until: "2026-03-01T11:00:00Z",
      cluster: "east",
      q: "r5",
      sort: "shortest",
    };
    const request = listRequest(search, now, 50);
    expect(request.filters.map(({ function: fn, field, values }) => [field, fn, values])).toEqual([
      ["phase", Filter_Function.VALUE_IN, ["6", "7"]],
      ["task_name", Filter_Function.CONTAINS_CASE_INSENSITIVE, ["train"]],
      ["created_by_subject", Filter_Function.EQUAL, ["ada"]],
      ["labels.team", Filter_Function.EQUAL, ["ml"]],
      ["labels.gpu", Filter_Function.EXISTS, []],
      ["source", Filter_Function.VALUE_IN, ["2"]],
      ["created_at", Filter_Function.GREATER_THAN_OR_EQUAL, ["2026-02-28T12:00:00.000Z"]],
      ["created_at", Filter_Function.LESS_THAN, ["2026-03-01T11:00:00.000Z"]],
      ["cluster", Filter_Function.EQUAL, ["east"]],
      ["name", Filter_Function.CONTAINS_CASE_INSENSITIVE, ["r5"]],
    ]);
    expect(request.sortByFields).toMatchObject([{ key: "duration_ms", direction: Sort_Direction.ASCENDING }]);
  });
  it("names a task in full", () =>
    expect(listRequest({ task: "=pkg.main" }, now, 1).filters).toMatchObject([{ function: Filter_Function.EQUAL, values: ["pkg.main"] }]));
  it("says who waits in a field of its own", () =>
    expect(runsRequest({ project: "p", domain: "d" }, { paused: true }, listRequest({ paused: true }, now, 1)).pausedActionsOnly).toBe(true));
});

it("is live where the stream says enough", () => {
  expect(canBeLive({ phases: "failed", q: "x" })).toBe(true);
  expect(canBeLive({ paused: true })).toBe(false);
  expect(canBeLive({ sort: "updated" })).toBe(false);
  expect(canBeLive({ cluster: "east" }), "runs do not name their clusters").toBe(false);
});

describe("what is heard matches as the server would say", () => {
  it.each<[RunsSearch, boolean]>([
    [{}, true],
    [{ phases: "failed,running" }, true],
    [{ phases: "failed" }, false],
    [{ task: "MAIN" }, true],
    [{ task: "=pkg.main" }, true],
    [{ task: "=main" }, false],
    [{ owner: "ada" }, true],
    [{ owner: "Ada" }, false],
    [{ labels: ["team=ml", "team"] }, true],
    [{ labels: ["team=other"] }, false],
    [{ labels: ["gpu"] }, false],
    [{ source: "web,cli" }, true],
    [{ source: "web" }, false],
    [{ since: "1h" }, true],
    [{ since: "2m" }, false],
    [{ until: "2026-03-01T11:56:00Z" }, true],
    [{ until: "2026-03-01T11:50:00Z" }, false],
    [{ q: "Some" }, true],
    [{ q: "none" }, false],
  ])("%j: %s", (search, wanted) => expect(matches(search, run("a-some-run", { minutes: 5, labels: { team: "ml" } }), now)).toBe(wanted));
});

describe("pages and what was heard since", () => {
  const pages = [run("c", { minutes: 3 }), run("d", { minutes: 4 })];
  const heard = (...runs: Run[]) => new Map(runs.map((each) => [nameOf(each), each]));
  const names = (runs: readonly Run[]) => runs.map(nameOf).join("");
  it("are the same when nothing was", () => expect(merged(pages, true, heard(), () => true)).toBe(pages));
  it("have new runs at their places", () =>
    expect(names(merged(pages, true, heard(run("b", { minutes: 2 }), run("a", { minutes: 1 })), () => true))).toBe("abcd"));
  it("leave older runs to their pages", () => {
    const older = heard(run("e", { minutes: 5 }));
    expect(names(merged(pages, true, older, () => true))).toBe("cd");
    expect(names(merged(pages, false, older, () => true))).toBe("cde");
  });
  it("are brought up to date, and lose what no longer matches", () => {
    const changed = heard(run("c", { minutes: 3, phase: ActionPhase.FAILED }), run("d", { minutes: 4, phase: ActionPhase.SUCCEEDED }));
    const left = merged(pages, true, changed, (each) => matches({ phases: "running,failed" }, each, now));
    expect(left.map((each) => [nameOf(each), phaseOf(each)])).toEqual([["c", ActionPhase.FAILED]]);
  });
  it("begin with what was heard when there are none", () => expect(names(merged([], false, heard(run("a")), () => true))).toBe("a"));
  it("keep their order where nothing is live", () => expect(names(refreshed(pages, heard(run("d", { phase: ActionPhase.FAILED }), run("x"))))).toBe("cd"));
});
