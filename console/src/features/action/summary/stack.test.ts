import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { StackFrameSchema } from "@gen/flytebinary/insight/v1/failures_pb.js";
import { around, exceptionTitle, folded } from "./stack";

const frame = (file: string, own: boolean) => create(StackFrameSchema, { file, own, line: 1 });

test("frames of libraries are folded between those of the task", () => {
  const [a, b, c, d] = [frame("flyte/a.py", false), frame("flyte/b.py", false), frame("mine.py", true), frame("numpy.py", false)];
  expect(folded([a, b, c, d])).toEqual([
    { kind: "library", frames: [a, b] },
    { kind: "own", frame: c },
    { kind: "library", frames: [d] },
  ]);
  expect(folded([])).toEqual([]);
});

test("the failing line has the lines around it", () => {
  const text = ["one", "two", "three", "four", "    five()", "six", "seven", "eight"].join("\n");
  expect(around(text, { line: 5, code: "five()" }).map(({ number }) => number)).toEqual([2, 3, 4, 5, 6, 7]);
  expect(around(text, { line: 1, code: "one" }).map(({ number }) => number)).toEqual([1, 2, 3]);
  expect(around(text, { line: 5, code: "other()" })).toEqual([]);
  expect(around(text, { line: 99, code: "" })).toEqual([]);
});

test("exceptions are titled as Python prints them", () => {
  expect(exceptionTitle({ type: "KeyError", message: "'latam'" })).toBe("KeyError: 'latam'");
  expect(exceptionTitle({ type: "AssertionError", message: "" })).toBe("AssertionError");
});
