import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { permissionGroups, permissionWords } from "./permissions";
import { isOfOperators } from "./rights";

const folder = join(import.meta.dirname, "../../../..");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const all = (text: string, pattern: RegExp): readonly string[] => [...text.matchAll(pattern)].map(([, permission = ""]) => permission);

/** The permissions that the server asks people for: by procedures, by plain routes, and by handlers. */
const asked = new Set([
  ...all(read("internal/wire/authz/procedures.go"), /^\t\t"\w+":\s+\{(?:people|programs), "([\w.]+)"/gm),
  ...all(read("internal/wire/authz/routes.go"), /By: (?:people|programs), Action: "([\w.]+)"/g),
  ...all(read("access/policy/roles.go"), /^\t(?:KeyAdminister|AccessExplain) = "([\w.]+)"/gm),
]);

test("every permission that people can have is explained, and no other", () => {
  expect(asked.size).toBeGreaterThan(50);
  const explained = permissionGroups.flatMap(({ permissions }) => Object.keys(permissions));
  expect(explained.toSorted()).toEqual([...asked].toSorted());
});

test("the permissions of operators alone are those of the server", () => {
  const [, listed = ""] = /func ofOperators[^}]*\{([^{}]*)\}, permission\)/.exec(read("access/policy/roles.go")) ?? [];
  expect(all(listed, /"([\w.]+)"/g)).toHaveLength(3);
  expect([...asked].filter(isOfOperators).toSorted()).toEqual(all(listed, /"([\w.]+)"/g).toSorted());
});

test("an unknown permission is shown as it is", () => {
  expect(permissionWords("run.create")).toBe("Start, rerun and recover runs");
  expect(permissionWords("cache.write")).toBe("cache.write");
});
