import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

/** The folders of the source, lowest first. A file imports only from its own folder and from lower ones. */
const layers = ["texts", "api", "app", "design", "entities", "features", "shell"];

const root = import.meta.dirname;
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name))
  .map((name) => name.replaceAll("\\", "/"));
const known = new Set(readdirSync(root, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/")));

/** Each file's imports. */
type Graph = ReadonlyMap<string, readonly string[]>;

const whenLoaded = /^(?:import|export)\b[^;"']*?from "([^"]+)"|^import "([^"]+)"/gm;
const later = /\bimport\("([^"]+)"\)/g;

/** The files of this package that a file imports, types and styles included. */
function importsOf(file: string, pattern: RegExp): string[] {
  const found = readFileSync(join(root, file), "utf8").matchAll(pattern);
  return [...found].flatMap(([, from, bare]) => {
    const path = from ?? bare ?? "";
    const base = path.startsWith("@/") ? path.slice(2) : path.startsWith(".") ? relative(root, join(root, dirname(file), path)) : undefined;
    return base === undefined ? [] : [`${base}.ts`, `${base}.tsx`, base].filter((name) => known.has(name) && /\.[a-z]+$/.test(name));
  });
}

const graphOf = (...patterns: readonly RegExp[]): Graph => new Map(files.map((file) => [file, patterns.flatMap((pattern) => importsOf(file, pattern))]));

/** A cycle of imports as a path, or undefined. */
function findCycle(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next);
      if (cycle) return cycle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file);
    if (cycle) return cycle;
  }
  return undefined;
}

const layerOf = (file: string): number => (file.includes("/") ? layers.indexOf(file.slice(0, file.indexOf("/"))) : layers.length);

/** Imports from a higher layer, as "file -> imported file". */
const upward = (graph: Graph): string[] =>
  [...graph].flatMap(([file, imports]) => imports.filter((to) => layerOf(to) > layerOf(file)).map((to) => `${file} -> ${to}`));

const featureOf = (file: string): string | undefined => /^features\/([^/]+)\//.exec(file)?.[1];

/** The imports between features. */
function featuresOf(graph: Graph): Graph {
  const between = new Map<string, Set<string>>();
  for (const [file, imports] of graph) {
    const from = featureOf(file);
    if (from === undefined) continue;
    const targets = between.get(from) ?? new Set();
    between.set(from, targets);
    for (const to of imports.map(featureOf)) if (to !== undefined && to !== from) targets.add(to);
  }
  return new Map([...between].map(([from, targets]) => [from, [...targets]]));
}

/** Style sheets that a file of another feature imports. */
const foreignStyles = (graph: Graph): string[] =>
  [...graph].flatMap(([file, imports]) =>
    imports.filter((to) => to.endsWith(".css") && featureOf(to) !== undefined && featureOf(to) !== featureOf(file)).map((to) => `${file} -> ${to}`),
  );

const loaded = graphOf(whenLoaded);
const all = graphOf(whenLoaded, later);

test("imports are found", () => {
  expect([...loaded.values()].flat().length).toBeGreaterThan(files.length);
  expect(all.get("shell/router.tsx")).toContain("features/runs/page.tsx");
  expect(featuresOf(all).get("runs")).toContain("launch");
});

test("every folder has a layer", () => {
  expect(files.filter((file) => layerOf(file) < 0)).toEqual([]);
});

test("files do not import each other in a cycle", () => {
  expect(findCycle(loaded)).toBeUndefined();
});

test("files import only from their own layer and lower ones", () => {
  expect(upward(all)).toEqual([]);
});

test("features do not import each other in a cycle, not even lazily", () => {
  expect(findCycle(featuresOf(all))).toBeUndefined();
});

test("features do not use each other's style sheets", () => {
  expect(foreignStyles(all)).toEqual([]);
});

describe("the rules find", () => {
  test("a cycle", () => {
    expect(findCycle(new Map([["a", ["b"]], ["b", ["c", "d"]], ["c", []], ["d", ["b"]]]))).toEqual(["b", "d", "b"]);
  });
  test("a cycle between features", () => {
    const graph = new Map([["features/a/1.ts", ["features/b/1.ts"]], ["features/b/2.ts", ["features/a/2.ts"]]]);
    expect(findCycle(graph)).toBeUndefined();
    expect(findCycle(featuresOf(graph))).toEqual(["a", "b", "a"]);
  });
  test("an import from a higher layer", () => {
    expect(upward(new Map([["design/a.ts", ["features/b/1.ts", "api/c.ts"]], ["main.tsx", ["shell/d.ts"]]]))).toEqual(["design/a.ts -> features/b/1.ts"]);
  });
  test("a style sheet of another feature", () => {
    expect(foreignStyles(new Map([["features/a/1.ts", ["features/b/x.css", "features/a/x.css"]]]))).toEqual(["features/a/1.ts -> features/b/x.css"]);
  });
});
