import { describe, expect, it } from "vitest";
import { asCurlQuery, asGetRun } from "./command";
import { also, cut, replaced, toggled } from "./edit";
import { quoted } from "./quoted";

it("cuts a query into what must hold", () => {
  expect(cut('a and -(b or c) not d label:"x y"  phase:failed')?.map(({ text, term }) => [text, term?.key])).toEqual([
    ["a", "text"],
    ["-(b or c)", undefined],
    ["not d", undefined],
    ['label:"x y"', "label"],
    ["phase:failed", "phase"],
  ]);
  expect(cut("")).toEqual([]);
  expect(cut("a or b")).toBeUndefined();
  expect(cut("phase:none")).toBeUndefined();
});

it("adds and replaces conditions", () => {
  expect(also("", "a")).toBe("a");
  expect(also("a -b", "c")).toBe("a -b c");
  expect(also("a or b", "c")).toBe("(a or b) c");
  expect(replaced("a since:1h b", ({ key }) => key === "created", ["since:2h"])).toBe("a b since:2h");
  expect(toggled("", "phase", "failed")).toBe("phase:failed");
  expect(toggled("a phase:failed", "phase", "running")).toBe("a phase:failed,running");
  expect(toggled("a phase:failed", "phase", "failed")).toBe("a");
  expect(toggled("a or b", "phase", "failed")).toBe("(a or b) phase:failed");
});

it("puts quotation marks around values that need them", () => expect(["a", "a b", "(", 'a"b', ""].map(quoted)).toEqual(["a", '"a b"', '"("', '"a\\"b"', '""']));

describe("the same words as a command", () => {
  const place = { project: "p", domain: "d" };
  const now = Date.parse("2026-03-02T12:00:00.500Z");
  it.each([
    ["", "flyte get run -p p -d d"],
    ["phase:timed-out owner:me is:paused", "flyte get run -p p -d d --in-phase timed_out --only-mine --paused-only"],
    ["task=pkg.main label:team=ml label:gpu", "flyte get run -p p -d d --task-name pkg.main --with-label team=ml --with-label-key gpu"],
    ["created:2026-03-01", "flyte get run -p p -d d --created-after 2026-03-01T00:00:00 --created-before 2026-03-02T00:00:00"],
    ["since:24h", "flyte get run -p p -d d --created-after 2026-03-01T12:00:00"],
  ])("%j", (query, command) => expect(asGetRun(place, query, now)).toBe(command));
  it.each(["train", "phase:failed,aborted", "-phase:failed", "a or b", "task:x", "owner:ada", "error:x", "duration>1h", "phase:failed phase:running", "phase:none"])(
    "the CLI has none for %j",
    (query) => expect(asGetRun(place, query, now)).toBeUndefined(),
  );
  it("is one of the API otherwise", () =>
    expect(asCurlQuery(place, "error:it's", "http://h:1")).toBe(
      `curl -sS -X POST http://h:1/flytebinary.insight.v1.RunQueryService/QueryRuns -H 'Content-Type: application/json' -d '{"projectId":{"name":"p","domain":"d"},"query":"error:it'\\''s"}'`,
    ));
});
