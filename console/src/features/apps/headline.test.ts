import { describe, expect, it } from "vitest";
import { headline, saysTheSame } from "./headline";

const crash = "the container ended with exit code 1:\nTraceback (most recent call last):\n  File \"app.py\", line 3, in <module>\nModuleNotFoundError: No module named 'torch'\n";

describe("headline", () => {
  it("has the exception of a traceback", () => {
    expect(headline(crash)).toBe("the container ended with exit code 1: ModuleNotFoundError: No module named 'torch'");
  });
  it("is the first line of any other message", () => {
    expect(headline("one\ntwo")).toBe("one");
    expect(headline("alone:")).toBe("alone:");
    expect(headline("")).toBe("");
  });
});

describe("saysTheSame", () => {
  it("knows a message in its summary", () => {
    expect(saysTheSame("Revision 1 does not start.", "revision 1 does not start")).toBe(true);
    expect(saysTheSame(`${crash.replace("the", "The").trim()}.`, crash)).toBe(true);
    expect(saysTheSame("Revision 1 serves.", "revision 2 serves")).toBe(false);
  });
});
