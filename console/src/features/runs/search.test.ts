import { describe, expect, it } from "vitest";
import { tryQuery } from "@/entities/run/query/parse";
import { fieldsOf, withFields } from "./fields";
import { localText, momentOf } from "./moment";
import { RunsSearch } from "./search";
import { suggestionsOf, typingAt } from "./suggestions";
import { sameSearch } from "./views";

describe("the address", () => {
  it("has the query as text", () => expect(RunsSearch({ query: " a or b ", sort: "oldest", other: 1 })).toEqual({ query: "a or b", sort: "oldest" }));
  it("may be a number, as the router reads it", () => expect(RunsSearch({ query: 7, sort: "newest" })).toEqual({ query: "7" }));
  it("may be of before there were queries", () => {
    const { query = "" } = RunsSearch({
      phases: "failed,purple,failed",
      task: " train ",
      owner: 7,
      labels: ["team=ml", "=x", "team=ml", "note=two words"],
      source: "cli,moon",
      since: "24h",
      until: "soon",
      paused: "true",
      q: "r5",
    });
    expect(query).toBe('phase:failed task:train name:r5 owner:7 label:team=ml label:"note=two words" source:cli since:24h is:paused');
    expect(tryQuery(query)).toHaveProperty("node");
    expect(RunsSearch({ task: "=pkg.main", text: "my run", labels: "team" }).query).toBe('"my run" task=pkg.main label:team');
  });
});

it("tells searches apart by what they find", () => {
  expect(sameSearch({ query: "a" }, { query: "a" })).toBe(true);
  expect(sameSearch({}, { sort: "oldest" })).toBe(false);
  expect(sameSearch({}, { query: "a" })).toBe(false);
});

describe("the dialog", () => {
  it("shows what it can of a query", () =>
    expect(fieldsOf('phase:failed task=pkg.main label:a=b label:c duration>5m since:24h is:paused error:"no file" -owner:ada (x or y)')).toMatchObject({
      phases: ["failed"],
      task: "=pkg.main",
      labels: ["a=b", "c"],
      longer: "5m",
      since: "24h",
      paused: true,
      error: "no file",
      owner: "",
    }));
  it("keeps what it cannot show", () => {
    const query = "train -owner:ada (x or y) phase:failed updated<1h";
    expect(withFields(query, fieldsOf(query))).toBe(query);
    expect(withFields(query, { ...fieldsOf(query), phases: ["running"], owner: "me" })).toBe("train -owner:ada (x or y) updated<1h phase:running owner:me");
    expect(withFields("a or b", { ...fieldsOf("a or b"), owner: "me" })).toBe("(a or b) owner:me");
    expect(withFields("name:a name:b", { ...fieldsOf("name:a name:b"), name: "c" })).toBe("name:b name:c");
  });
});

describe("suggestions", () => {
  const at = (text: string, found: readonly string[] = []) => suggestionsOf(typingAt(text, text.length), found).map((one) => one.text);
  it("are keys, then values", () => {
    expect(at("pha")).toEqual(["phase:"]);
    expect(at("a -du")).toEqual(["duration>"]);
    expect(at("(st")).toEqual(["started:"]);
    expect(at("phase:f")).toEqual(["phase:failed"]);
    expect(at("phase:failed,ti")).toEqual(["phase:failed,timed-out"]);
    expect(at("owner:", ["ada", "bob"])).toEqual(["owner:me", "owner:ada", "owner:bob"]);
    expect(at("label:no", ["note=two words"])).toEqual(['label:"note=two words"']);
    expect(at("task:tr", ["env.train"])).toEqual(["task=env.train"]);
    expect(at("")).toEqual([]);
  });
  it("replace the word at the caret", () => expect(typingAt('a "b c" -phase:fa', 17)).toEqual({ start: 9, word: "phase:fa", value: { key: "phase", part: "fa" } }));
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
