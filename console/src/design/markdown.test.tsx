import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { Markdown } from "./markdown";

const drawn = (text: string) => render(<Markdown text={text} />).container;

it("draws the usual", () => {
  const page = drawn(
    "# One\n\nSome **bold**, *thin*, ~~old~~ and `code` &amp; \\*.\n\n- a\n- b\n  1. c\n\n> quoted\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```py\nprint(1)\n```\n\n- [x] done\n",
  );
  expect(page.querySelector("h4")?.textContent).toBe("One");
  expect([...page.querySelectorAll("strong, em, del, code, blockquote")].map((one) => one.textContent.trim())).toEqual([
    "bold", "thin", "old", "code", "quoted", "print(1)",
  ]);
  expect(page.querySelectorAll("li")).toHaveLength(4);
  expect([...page.querySelectorAll("th, td")].map((one) => one.textContent)).toEqual(["x", "y", "1", "2"]);
  expect(page.textContent).toContain("& *.");
  expect(page.querySelector("input")?.checked).toBe(true);
});

it.each([
  "<script>alert(1)</script>",
  '<img src=x onerror="alert(1)">',
  "a <b onclick=alert(1)>b</b>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "![x](https://example.com/x.png)",
  "<javascript:alert(1)>",
  '[x](https://example.com "a\\" onclick=alert(1)")',
  "<iframe src=https://example.com></iframe>",
])("runs and loads nothing: %s", (text) => {
  const page = drawn(text);
  expect(page.querySelector("script, img, iframe, [onclick], [onerror], b")).toBeNull();
  for (const link of page.querySelectorAll("a")) {
    expect(link.getAttribute("href")).toMatch(/^https:\/\/example\.com/);
    expect(link.rel).toContain("noopener");
  }
});

it("survives what is nested deep", () => {
  expect(drawn(">".repeat(3000)).textContent).toBeDefined();
  expect(drawn("- ".repeat(500)).textContent).toBeDefined();
  expect(drawn("*".repeat(5000)).textContent).toBeDefined();
});
