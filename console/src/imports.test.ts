import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const root = import.meta.dirname;
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name))
  .map((name) => join(root, name));
const known = new Set(files);

/** The files of this package that a file imports when it is loaded. Types count as well; lazy imports do not. */
function importsOf(file: string): string[] {
  const found = readFileSync(file, "utf8").matchAll(/^(?:import|export)\b[^;"']*?from "([^"]+)"|^import "([^"]+)"/gm);
  return [...found].flatMap(([, from, bare]) => {
    const path = from ?? bare ?? "";
    const base = path.startsWith("@/") ? join(root, path.slice(2)) : path.startsWith(".") ? join(dirname(file), path) : undefined;
    return base === undefined ? [] : [`${base}.ts`, `${base}.tsx`].filter((name) => known.has(name));
  });
}

/** A circle of imports as a path, or undefined. */
function findCircle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next);
      if (circle) return circle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle) return circle;
  }
  return undefined;
}

test("files do not import each other in a circle", () => {
  const graph = new Map(files.map((file) => [file, importsOf(file)]));
  expect([...graph.values()].flat().length, "imports that were found").toBeGreaterThan(files.length);
  expect(findCircle(graph)?.map((file) => relative(root, file))).toBeUndefined();
});

test("a circle is found", () => {
  expect(findCircle(new Map([["a", ["b"]], ["b", ["c", "d"]], ["c", []], ["d", ["b"]]]))).toEqual(["b", "d", "b"]);
});
