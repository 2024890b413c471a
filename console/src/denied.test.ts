import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takes } from "@/entities/access/takes";

const root = import.meta.dirname;
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => /\.tsx?$/.test(name) && !/\.(test|fixture)\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));

/** The permission of each procedure, by "Service.method" and by its full name, as the server has them. */
const table = readFileSync(join(root, "../../internal/wire/authz/procedures.go"), "utf8");
const permissions = new Map<string, Set<string>>();
const exact = new Map<string, string>();
let service = "";
for (const line of table.split("\n")) {
  service = /^\t"([\w.]+)": \{$/.exec(line)?.[1] ?? service;
  const [, method = "", permission = ""] = /^\t\t"(\w+)":\s+\{\w+, "([\w.]+)"/.exec(line) ?? [];
  if (method === "") continue;
  exact.set(`${service}/${method}`, permission);
  const short = `${service.split(".").at(-1) ?? ""}.${method.charAt(0).toLowerCase()}${method.slice(1)}`;
  permissions.set(short, (permissions.get(short) ?? new Set()).add(permission));
}

/** What changes nothing, or is part of another call: inputs are uploaded to start a run. */
const harmless = (permission: string): boolean => permission.endsWith(".view") || ["translator.use", "data.upload"].includes(permission);

const runServices = ["RunService", "TrackedRunService"];
const servicesOf = (text: string): readonly string[] => (text.startsWith("serviceOf") ? runServices : [text]);
const found = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].flatMap(([, of = "", method = ""]) => servicesOf(of).map((one) => `${one}.${method}`));

/** The calls that a file makes. */
const callsOf = (text: string): readonly string[] => [
  ...found(text, /\bclient\(([A-Z]\w+|serviceOf\([^)]*\))\)\s*\.(\w+)/g),
  ...found(text, /\buse(?:Infinite)?(?:Query|Mutation)\(\s*([A-Z]\w+|serviceOf\([^)]*\))\.method\.(\w+)/g),
];
const denialsOf = (text: string): readonly string[] => found(text, /\buseDenied\(\s*([A-Z]\w+|serviceOf\([^)]*\))\.method\.(\w+)/g);
const folderOf = (name: string): string => /^(?:features\/)?[^/]+/.exec(name)?.[0] ?? name;

const changes = sources.flatMap(({ name, text }) =>
  callsOf(text)
    .filter((call) => [...(permissions.get(call) ?? [])].some((permission) => !harmless(permission)))
    .map((call) => ({ name, call })),
);

test("calls that change something are found", () => {
  expect(new Set(changes.map(({ call }) => call)).size).toBeGreaterThan(15);
  expect(changes).toContainEqual({ name: "features/launch/submit.ts", call: "RunService.createRun" });
});

test("every call is in the server's table", () => {
  expect(sources.flatMap(({ name, text }) => callsOf(text).filter((call) => !permissions.has(call)).map((call) => `${name}: ${call}`))).toEqual([
    // The services of tracked runs have the same reads, but not every call of the others.
  ]);
});

test("every call that changes something has a button that says when the reader may not press it", () => {
  const denied = sources.map(({ name, text }) => ({ folder: folderOf(name), calls: denialsOf(text) }));
  const missing = changes.filter(({ name, call }) => !denied.some(({ folder, calls }) => folder === folderOf(name) && calls.includes(call)));
  expect(missing).toEqual([]);
});

test("the console has the permissions that the server has", () => {
  expect(Object.fromEntries(Object.keys(takes).map((call) => [call, exact.get(call)]))).toEqual(takes);
});

test("every call whose button may be denied has a permission", () => {
  const known = new Set(Object.keys(takes).map((call) => call.replace(/^.*\.(\w+)\/(\w)(\w*)$/, (_, of: string, a: string, b: string) => `${of}.${a.toLowerCase()}${b}`)));
  expect(sources.flatMap(({ text }) => denialsOf(text)).filter((call) => !known.has(call))).toEqual([]);
});
