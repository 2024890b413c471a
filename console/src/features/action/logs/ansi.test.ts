import { describe, expect, it } from "vitest";
import { clean, pieces } from "./ansi";

const e = "\u001b";

describe("what a terminal would show", () => {
  it.each([
    ["plain\n", "plain", undefined],
    [`${e}[31mred${e}[0m\r\n`, "red", `${e}[31mred${e}[0m`],
    ["10%\r50%\r100%\n", "100%", undefined],
    [`${e}[2K${e}[1Gdone`, "done", "done"],
    [`${e}]8;;https://example.com${e}\\link${e}]8;;${e}\\`, "link", "link"],
  ])("%j", (line, text, styled) => expect(clean(line)).toEqual({ text, styled }));
});

describe("pieces", () => {
  it("have the style of their colours", () => {
    const { text, styled } = clean(`a ${e}[1;31mb${e}[0m ${e}[38;5;46mc${e}[0m${e}[38;2;20;20;250md${e}[0m`);
    expect(pieces(text, styled, undefined)).toEqual([
      { text: "a ", styles: [], hit: false },
      { text: "b", styles: ["bold", "red"], hit: false },
      { text: " ", styles: [], hit: false },
      { text: "c", styles: ["green"], hit: false },
      { text: "d", styles: ["blue"], hit: false },
    ]);
  });

  it("are divided at what is found, over the bounds of colours too", () => {
    const { text, styled } = clean(`ab${e}[32mcd${e}[0mef`);
    expect(pieces(text, styled, /bcde/).map(({ text, hit }) => [text, hit])).toEqual([
      ["a", false],
      ["b", true],
      ["cd", true],
      ["e", true],
      ["f", false],
    ]);
  });

  it("are not divided by patterns that match nothing", () => expect(pieces("aaa", undefined, /x*/)).toHaveLength(1));
  it("take what looks like HTML as text", () => expect(pieces("<b>&", undefined, undefined)[0]?.text).toBe("<b>&"));
  it("take what looks like HTML as text among colours", () => {
    const { text, styled } = clean(`${e}[31m<b>&${e}[0m`);
    expect(pieces(text, styled, undefined).map((piece) => piece.text)).toEqual(["<b>&"]);
  });
});
