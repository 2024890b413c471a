// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ActivityBucketSchema } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { ProjectSchema } from "@gen/flyteidl2/project/project_service_pb.js";
import { inWords } from "./activity";
import { idOf, wrongProjectId } from "./project-id";
import { HomeSearch } from "./search";
import { projectFilter, union } from "./use-projects";

describe("the id of a project", () => {
  it.each([
    ["My Project", "my-project"],
    ["  Größe & Maß ", "gro-e-ma"],
    ["Café 7", "cafe-7"],
    ["--", ""],
    ["x".repeat(70), "x".repeat(63)],
  ])("of %j is %j", (name, id) => expect(idOf(name)).toBe(id));
  it.each(["a", "a-b", "0", "x".repeat(63)])("%j is right", (id) => expect(wrongProjectId(id)).toBe(""));
  it.each(["", "A", "a b", "-a", "a-", "x".repeat(64)])("%j is wrong", (id) => expect(wrongProjectId(id)).not.toBe(""));
});

it("asks for projects in the form of the API", () => {
  expect(projectFilter("name", "", false)).toBe("ne(state, 1)");
  expect(projectFilter("id", "ml", true)).toBe("value_in(state, 0;1;2;3)+contains(id, ml)");
  expect(projectFilter("name", "a)+eq(b, c", false)).toBe("ne(state, 1)+contains(name, a+eqb, c)");
});

it("has each project once", () => {
  const project = (id: string, name: string) => create(ProjectSchema, { id, name });
  expect(union([project("b", "B"), project("a", "A")], [project("a", "A")]).map(({ id }) => id)).toEqual(["a", "b"]);
});

it("takes what it knows of an address", () => expect(HomeSearch({ q: 7, archived: "true", x: 1 })).toEqual({ q: "7", archived: true }));

it("says what happened in words", () => {
  expect(inWords([create(ActivityBucketSchema, { succeeded: 2 }), create(ActivityBucketSchema, { succeeded: 1, failed: 1 })])).toBe(
    "4 runs: 3 succeeded, 1 failed",
  );
  expect(inWords([])).toBe("no runs");
});
