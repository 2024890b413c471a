import { diffLines } from "diff";
import { expect, it } from "vitest";
import { hunksOf } from "./diff-lines";

const text = (lines: readonly (string | number)[]) => `${lines.join("\n")}\n`;
const words = (before: string, after: string) => hunksOf(diffLines(before, after)).map(({ kind, lines }) => `${kind} ${lines.join(",")}`);

it("shows what changed with what is around it", () => {
  const before = Array.from({ length: 20 }, (_, at) => at);
  const after: (string | number)[] = [...before];
  after[10] = "x";
  expect(words(text(before), text(after))).toEqual([
    "skipped 0,1,2,3,4,5,6",
    "same 7,8,9",
    "removed 10",
    "added x",
    "same 11,12,13",
    "skipped 14,15,16,17,18,19",
  ]);
});

it("leaves no gap of a single line", () => {
  expect(words(text([1, 2, 3, 4, "a"]), text([1, 2, 3, 4, "b"]))).toEqual(["same 1,2,3,4", "removed a", "added b"]);
});

it("of equal texts has nothing to show", () => expect(words("a\n", "a\n")).toEqual(["same a"]));
