import { describe, expect, it } from "vitest";
import { isRunName, pathOf } from "./address";

describe("what is pasted", () => {
  it.each([
    ["http://localhost:8090/v2/domain/development/project/p/runs/r1?tab=logs", "/v2/domain/development/project/p/runs/r1?tab=logs"],
    ["/v2/domain/d/project/p/tasks/t ", "/v2/domain/d/project/p/tasks/t"],
    ["https://example.com/other", undefined],
    ["/v2/../etc", undefined],
    ["train", undefined],
  ])("%j leads to %j", (text, path) => expect(pathOf(text)).toBe(path));
  it("may be the name of a run", () => {
    expect(isRunName("rsk27mbzl8gwkwz752m2")).toBe(true);
    expect(isRunName("Two words")).toBe(false);
  });
});
