import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { collect, placeholders, type Text } from "./collect";
import de from "./de.json";
import server from "./server.json";
import type { Catalogue } from "./language";

const root = join(import.meta.dirname, "..");
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => /\.tsx?$/.test(name) && !/\.(test|fixture)\.tsx?$/.test(name) && !name.startsWith("texts/"))
  .sort();
const collected = files.map((file) => collect(file, readFileSync(join(root, file), "utf8")));
const texts = collected.flatMap((one) => one.texts);
/** The sentences of the server, which a test of the server collects. */
const said: readonly Text[] = server.map((one: { text: string; one?: string }) => ({ key: one.text, at: "server.json", ...(one.one === undefined ? {} : { one: one.one }) }));

/** What looks like a text and is none. */
const exceptions: Readonly<Record<string, string>> = { "phase:failed,timed-out since:24h": "a query" };

const catalogues: Readonly<Record<string, Catalogue>> = { de };

test("texts are found", () => {
  expect(files.length).toBeGreaterThan(300);
  expect(new Set(texts.map(({ key }) => key)).size).toBeGreaterThan(2000);
});

test("everything that people read goes through the catalogue", () => {
  const strays = collected.flatMap((one) => one.strays).filter(({ text }) => exceptions[text] === undefined);
  expect(strays.map(({ at, text }) => `${at}: ${text}`)).toEqual([]);
});

test("style sheets put no words into pages", () => {
  const sheets = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".css"));
  expect(sheets.length).toBeGreaterThan(20);
  expect(sheets.filter((name) => /content:\s*["'][^"']*\p{L}/u.test(readFileSync(join(root, name), "utf8")))).toEqual([]);
});

/** What is wrong with texts whatever the language: a text of many in two ways of one, or placeholders that differ between them. */
function contradictions(all: readonly Text[]): string[] {
  const seen = new Map<string, Text>();
  return all.flatMap((text) => {
    const before = seen.get(text.key) ?? text;
    seen.set(text.key, before);
    if (before.one !== text.one) return [`${text.at}: "${text.key}" counts in another way at ${before.at}`];
    const own = placeholders(text.key).filter((name) => name !== "n");
    const differs = text.one !== undefined && placeholders(text.one).filter((name) => name !== "n").join() !== own.join();
    return differs ? [`${text.at}: "${text.one ?? ""}" and "${text.key}" have other placeholders`] : [];
  });
}

test("texts do not contradict each other", () => {
  expect(contradictions([...texts, ...said])).toEqual([]);
});

/** What a translation lacks, has too much, or has with other placeholders. */
function faults(catalogue: Catalogue, all: readonly Text[], rules: readonly Intl.LDMLPluralRule[]): string[] {
  const wanted = new Map(all.map((text) => [text.key, text]));
  const wrong = [...wanted].flatMap(([key, text]): string[] => {
    const given = catalogue[key];
    if (given === undefined) return [`${text.at}: no translation of "${key}"`];
    if (typeof given === "string") return text.one !== undefined ? [`"${key}" needs a form for each plural`] : sameNames(key, given, placeholders(key));
    if (text.one === undefined) return [`"${key}" counts nothing`];
    const own = placeholders(key).filter((name) => name !== "n");
    return rules.flatMap((rule) => {
      const form = given[rule];
      return form === undefined ? [`"${key}" has no form for "${rule}"`] : sameNames(key, form, own, ["n"]);
    });
  });
  const unknown = Object.keys(catalogue).filter((key) => !wanted.has(key));
  return [...wrong, ...unknown.map((key) => `no such text: "${key}"`)];
}

const sameNames = (key: string, translated: string, wanted: readonly string[], free: readonly string[] = []): string[] =>
  placeholders(translated).filter((name) => !free.includes(name)).join() === wanted.join() ? [] : [`"${key}" has other placeholders in "${translated}"`];

for (const [language, catalogue] of Object.entries(catalogues))
  test(`the catalogue ${language} has each text, and no other`, () => {
    expect(faults(catalogue, [...texts, ...said], new Intl.PluralRules(language).resolvedOptions().pluralCategories)).toEqual([]);
  });

describe("the rules find", () => {
  const strays = (source: string, file = "a.tsx") => collect(file, source).strays.map(({ text }) => text);
  const keys = (source: string) => collect("a.tsx", source).texts.map(({ key }) => key);

  test("text in elements, attributes, conditions and templates", () => {
    expect(strays("<p>so far</p>")).toEqual(["so far"]);
    expect(strays('<p>{n === 1 ? "was" : "were"}</p>')).toEqual(["was", "were"]);
    expect(strays('<Field label="name" hint={`at most ${n}`} />')).toEqual(["name", "at most {}"]);
    expect(strays('const words = { a: "Waiting", b: `${n} of them wait` };', "a.ts")).toEqual(["Waiting", "{} of them wait"]);
  });
  test("calls whose text is no literal", () => {
    expect(strays("t(word)")).toEqual(["not a literal: t(word)"]);
    expect(strays('tn(n, "{n} run", many)')).toEqual(["not a literal: tn(n, \"{n} run\", many)"]);
  });
  test("nothing in what is for programs", () => {
    expect(strays('import x from "Some thing"; if (a === "Some thing") b["Some thing"] = new Error("Some thing went wrong");')).toEqual([]);
    expect(strays('<a className="big red" href="https://example.org/Some" data-x="so far">{t("Open")}</a>')).toEqual([]);
    expect(strays('<Empty command={`flyte run ${name} main`} />')).toEqual([]);
  });
  test("texts inside of texts", () => {
    expect(keys('<p>{t("See {link}.", { link: <a>{tn(n, "{n} run", "{n} runs")}</a> })}</p>')).toEqual(["See {link}.", "{n} runs"]);
  });
  test("translations that lack, exceed or differ", () => {
    const all = collect("a.ts", 't("Open {name}"); t("Close"); tn(n, "{n} run of {task}", "{n} runs of {task}")').texts;
    expect(faults({ "Open {name}": "{name} öffnen", Close: "Schließen", "{n} runs of {task}": { one: "ein Run von {task}", other: "{n} Runs von {task}" } }, all, ["one", "other"])).toEqual([]);
    expect(faults({ "Open {name}": "Öffnen", Other: "Anderes", "{n} runs of {task}": { other: "{n} Runs" } }, all, ["one", "other"])).toEqual([
      '"Open {name}" has other placeholders in "Öffnen"',
      'a.ts:1: no translation of "Close"',
      '"{n} runs of {task}" has no form for "one"',
      '"{n} runs of {task}" has other placeholders in "{n} Runs"',
      'no such text: "Other"',
    ]);
  });
});
