import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formOf } from "./node";
import { tryQuery } from "./parse";

interface Refused {
  readonly at: number;
  readonly word: string;
  readonly message: string;
  readonly nearest: string;
}

// The server's parser passes the same cases.
const cases = JSON.parse(readFileSync(new URL("../../../../../runs/query/testdata/cases.json", import.meta.url), "utf8")) as readonly [string, string | Refused][];

describe("a query is understood as the server understands it", () => {
  it.each(cases)("%j", (text, want) => {
    const answer = tryQuery(text);
    if ("node" in answer) expect(formOf(answer.node)).toEqual(want);
    else expect({ at: answer.problem.at, word: answer.problem.word, message: answer.problem.message, nearest: answer.problem.nearest }).toEqual(want);
  });
});
