import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { RunSchema } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { beforeEach, describe, expect, it } from "vitest";
import { lastLook, look } from "./look";
import { slowOf, taskOf } from "./slow";

const now = Date.parse("2026-11-26T12:00:00Z");
const minute = 60_000;

const run = (name: string, task: string, minutes: number) =>
  create(RunSchema, {
    action: {
      id: { run: { project: "p", domain: "d", name } },
      metadata: { spec: { case: "task", value: { id: { project: "p", domain: "d", name: task, version: "1" } } } },
      status: { startTime: timestampFromMs(now - minutes * minute) },
    },
  });

describe("runs that are slower than usual", () => {
  const usual = (task: string, minutes: number, ended = 10) => ({ key: `p/d/${task}`, ended, p90: minutes * minute });

  it("are those beyond nine of ten, the slowest by far first", () => {
    const found = slowOf([run("a", "train", 30), run("b", "train", 9), run("c", "load", 50)], [usual("train", 10), usual("load", 10)], now);
    expect(found.map((one) => [one.run.action?.id?.run?.name, one.usual / minute])).toEqual([
      ["c", 10],
      ["a", 10],
    ]);
  });

  it("are not those of tasks that ran too rarely, or of which nothing is known", () => {
    expect(slowOf([run("a", "train", 30), run("b", "load", 30)], [usual("train", 10, 4)], now)).toEqual([]);
    expect(slowOf([run("a", "train", 30)], [{ key: "p/d/train", ended: 10, p90: undefined }], now)).toEqual([]);
  });

  it("are told apart by project and domain", () => {
    expect(taskOf(run("a", "train", 1))?.key).toBe("p/d/train");
    expect(taskOf(create(RunSchema, {}))).toBeUndefined();
  });
});

describe("the last look", () => {
  beforeEach(() => localStorage.clear());

  it("is a day ago at first, from a full hour on, and then when it was", () => {
    expect(lastLook(now + 59 * minute)).toBe(now - 24 * 60 * minute);
    look(now - minute);
    expect(lastLook(now)).toBe(now - minute);
  });

  it("is at most a week ago, and not in the future", () => {
    look(now - 30 * 24 * 60 * minute);
    expect(lastLook(now)).toBe(now - 7 * 24 * 60 * minute);
    look(now + minute);
    expect(lastLook(now)).toBe(now - 24 * 60 * minute);
  });
});
