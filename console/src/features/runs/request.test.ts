import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSchema, RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { merged, refreshed } from "./merge";
import { canBeLive, listRequest } from "./request";
import { nameOf, phaseOf } from "@/entities/run/listed";
import { matchesQuery } from "@/entities/run/query/match";
import { parseQuery } from "@/entities/run/query/parse";

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

describe("the request of the contract", () => {
  it("is for the newest when nothing is said", () =>
    expect(listRequest(100).sortByFields).toMatchObject([{ key: "created_at", direction: Sort_Direction.DESCENDING }]));
  it("has an order and filters", () => {
    const request = listRequest(1, "shortest", [{ field: "name", values: ["x"] }]);
    expect(request.sortByFields).toMatchObject([{ key: "duration_ms", direction: Sort_Direction.ASCENDING }]);
    expect(request.filters).toMatchObject([{ field: "name", values: ["x"] }]);
  });
});

it("is live where the stream says enough", () => {
  expect(canBeLive({ query: "phase:failed or (name:x -label:a owner:me)" })).toBe(true);
  expect(canBeLive({ sort: "updated" })).toBe(false);
  for (const query of ["is:paused", "cluster:east", "queue:gpu", "error:x", "shard:7", "duration>5m", "updated<1h", "phase:failed or -error:x", "phase:none"])
    expect(canBeLive({ query }), query).toBe(false);
});

describe("what is heard matches as the server would say", () => {
  it.each([
    ["", true],
    ["phase:failed,running", true],
    ["phase:failed", false],
    ["-phase:failed", true],
    ["task:MAIN", true],
    ["task=pkg.main", true],
    ["task=main", false],
    ["some main", true],
    ["owner:ada", true],
    ["owner:Ada", false],
    ["owner:me", true],
    ["label:team=ml label:team", true],
    ["label:team=other or label:gpu", false],
    ["label:team=other or is:active", true],
    ["is:ended", false],
    ["source:web,cli", true],
    ["source:web", false],
    ["since:1h", true],
    ["since:2m", false],
    ["until:2026-03-01T11:56:00Z", true],
    ["until:2026-03-01T11:50:00Z", false],
    ["created:2026-03-01", true],
    ["ended>1h", false],
    ["name:Some", true],
    ["name:none", false],
    ["version:v1 trigger:nightly", false],
  ])("%j: %s", (query, wanted) =>
    expect(matchesQuery(parseQuery(query), run("a-some-run", { minutes: 5, labels: { team: "ml" } }), { now, me: "ada" })).toBe(wanted),
  );
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
    const left = merged(pages, true, changed, (each) => matchesQuery(parseQuery("phase:running,failed"), each, { now, me: "" }));
    expect(left.map((each) => [nameOf(each), phaseOf(each)])).toEqual([["c", ActionPhase.FAILED]]);
  });
  it("begin with what was heard when there are none", () => expect(names(merged([], false, heard(run("a")), () => true))).toBe("a"));
  it("keep their order where nothing is live", () => expect(names(refreshed(pages, heard(run("d", { phase: ActionPhase.FAILED }), run("x"))))).toBe("cd"));
});
