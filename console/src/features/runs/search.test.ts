import { describe, expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { chipsOf } from "./chips";
import { localText, momentOf } from "./moment";
import { isFiltered, patched, phasesOf, RunsSearch, sinceOf, toggled } from "./search";
import { sameSearch, withView } from "./views";

describe("the address", () => {
  it("is taken as far as it is understood", () =>
    expect(
      RunsSearch({
        phases: "failed,purple,failed",
        task: " train ",
        owner: 7,
        labels: ["team=ml", "=x", "team=ml"],
        source: "cli,moon",
        since: "24h",
        until: "soon",
        paused: "true",
        q: "",
        sort: "newest",
        other: 1,
      }),
    ).toEqual({ phases: "failed", task: "train", owner: "7", labels: ["team=ml"], source: "cli", since: "24h", paused: true }));
  it("may have one label without a list", () => expect(RunsSearch({ labels: "team" })).toEqual({ labels: ["team"] }));
  it("may have a moment", () => expect(RunsSearch({ since: "2026-03-01T00:00:00Z" })).toEqual({ since: "2026-03-01T00:00:00Z" }));
  it("keeps no span that is none", () => expect(RunsSearch({ since: "24 parsecs" })).toEqual({}));
  it("knows an order from a condition", () => {
    expect(isFiltered({ sort: "longest" })).toBe(false);
    expect(isFiltered({ q: "x" })).toBe(true);
  });
});

it("forgets what is patched away", () => expect(patched({ task: "a", q: "b" }, { task: undefined, q: "" })).toEqual({}));

it("knows the phases in their order", () => expect(phasesOf({ phases: "running,timed-out" })).toEqual([ActionPhase.RUNNING, ActionPhase.TIMED_OUT]));

it("adds and takes away keys", () => {
  expect(toggled(undefined, "a")).toBe("a");
  expect(toggled("a", "b")).toBe("a,b");
  expect(toggled("a,b", "a")).toBe("b");
  expect(toggled("a", "a")).toBeUndefined();
});

it("counts spans back to the minute, so that pages can be asked for again", () =>
  expect(sinceOf({ since: "1h" }, Date.parse("2026-03-01T12:30:31Z"))?.toISOString()).toBe("2026-03-01T11:30:00.000Z"));

it("has a chip for each condition, which takes away only that one", () => {
  const search = RunsSearch({ phases: "failed,aborted", labels: ["team=ml", "gpu"], since: "1h", paused: true });
  const chips = chipsOf(search, () => "then");
  expect(chips.map(({ text }) => text)).toEqual(["Failed", "Aborted", "team = ml", "has label gpu", "last hour", "waiting for approval"]);
  expect(chips[0]?.without).toEqual({ ...search, phases: "aborted" });
  expect(chips[3]?.without).toEqual({ ...search, labels: ["team=ml"] });
});

describe("moments in a zone", () => {
  it.each([
    ["UTC", "2026-03-01T10:00", "2026-03-01T10:00:00.000Z"],
    ["Asia/Tokyo", "2026-03-01T10:00", "2026-03-01T01:00:00.000Z"],
    ["Europe/Berlin", "2026-03-29T03:30", "2026-03-29T01:30:00.000Z"],
    ["America/New_York", "2026-11-01T12:00", "2026-11-01T17:00:00.000Z"],
  ])("%s %s is %s", (zone, text, iso) => {
    expect(momentOf(text, zone)?.toISOString()).toBe(iso);
    expect(localText(new Date(iso), zone)).toBe(text);
  });
  it("are none when there is none", () => {
    expect(momentOf("", "UTC")).toBeUndefined();
    expect(localText(undefined, "UTC")).toBe("");
  });
});

it("keeps one view of a name, in order", () =>
  expect(
    withView(
      [
        { name: "b", search: {} },
        { name: "a", search: {} },
      ],
      { name: "b", search: { q: "x" } },
    ),
  ).toEqual([
    { name: "a", search: {} },
    { name: "b", search: { q: "x" } },
  ]));

it("tells searches apart by what they find", () => {
  expect(sameSearch({ q: "x", task: "t" }, { task: "t", q: "x" })).toBe(true);
  expect(sameSearch({}, { sort: "oldest" })).toBe(false);
});
