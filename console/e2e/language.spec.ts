import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { addressOf, routes } from "./pages";
import { sizes } from "./screens";
import { expect, expectAccessible, place, test } from "./test";

type Form = string | Record<string, string>;
const german = JSON.parse(readFileSync(join(import.meta.dirname, "../src/texts/de.json"), "utf8")) as Record<string, Form>;

const marked = (text: string) => `⟦${text}⟧`;

/** A language that is English in brackets, in the place of German: what has none did not go through the catalogue. */
const pseudo = Object.fromEntries(
  Object.entries(german).map(([key, form]): [string, Form] => [key, typeof form === "string" ? marked(key) : { one: marked(key), other: marked(key) }]),
);

const speak = (page: Page, language: string) => page.addInitScript((value) => localStorage.setItem("flyte-console:language", value), language);

/** Where data of users and of the server are shown, and code. */
const data = "code, pre, kbd, [translate=no], .cm-editor, time, [data-testid=log], [data-testid=traceback]";

/** The texts of the page and of its labels that have no bracket, outside of data. */
const unmarked = (page: Page): Promise<string[]> =>
  page.evaluate((elsewhere) => {
    const found = new Set<string>();
    const keep = (text: string | null) => {
      const words = text?.replace(/⟦[^⟦⟧]*⟧/g, "").trim() ?? "";
      if (words !== "") found.add(words);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) if (!node.parentElement?.closest(elsewhere + ", script, style, noscript")) keep(node.textContent);
    for (const element of document.querySelectorAll("[aria-label], [title], [placeholder]"))
      if (!element.closest(elsewhere)) for (const name of ["aria-label", "title", "placeholder"]) keep(element.getAttribute(name));
    return [...found];
  }, data);

/** English texts of the catalogue that are words for people: one that a page shows without brackets was not translated. */
const english = new Set(Object.keys(german).filter((key) => /^\p{Lu}\p{Ll}|\p{Ll} \p{Ll}/u.test(key) && !key.includes("{")));

/** Words that the server names itself, for its figures and limits, and that are texts of the console elsewhere. */
const ofServer: Readonly<Record<string, readonly string[]>> = { "/system": ["Cluster", "Storage", "Warm starts", "Runs", "Queues", "Cache", "Apps", "Requests"], "/me": ["Runs", "Apps"] };

test("every text of every page goes through the catalogue", async ({ page, runs, complaints }) => {
  test.setTimeout(300_000);
  await page.route(/\/assets\/de-[^/]*\.js$/, (route) =>
    route.fulfill({ contentType: "text/javascript", body: `export default ${JSON.stringify(pseudo)}` }),
  );
  await speak(page, "de");
  for (const route of routes) {
    await page.goto(addressOf(route, runs));
    await expect(page.getByRole("main")).toContainText("⟦");
    await expect(page.getByText("⟦Loading").first()).toBeHidden();
    expect.soft((await unmarked(page)).filter((text) => english.has(text) && !ofServer[route]?.includes(text)), `English that is left on ${route}`).toEqual([]);
    // A demo has no accounts of its own, and the browser complains about that answer, sometimes after the page has shown it.
    if (route === "/accounts") {
      await expect.poll(() => complaints.length).toBe(1);
      complaints.length = 0;
    }
  }
});

test("the language can be chosen and is remembered", async ({ page }) => {
  await page.goto("/v2/");
  await expect(page.locator("html")).toHaveAttribute("lang", "en");
  await page.getByRole("button", { name: "Theme, language and time zone" }).click();
  await page.getByLabel("Language", { exact: true }).selectOption("de");
  await expect(page.getByRole("heading", { name: "Projekte" })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
  await page.goto(`${place}/runs`);
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: "Dauer" })).toBeVisible();
  await page.getByRole("button", { name: "Design, Sprache und Zeitzone" }).click();
  await expectAccessible(page);
  await page.getByLabel("Sprache", { exact: true }).selectOption("en");
  await expect(page.getByRole("columnheader", { name: "Duration" })).toBeVisible();
});

test("a browser that prefers German gets German, and English needs no catalogue", async ({ browser, baseURL }) => {
  for (const [locale, word, loads] of [["de-AT", "Projekte", true], ["fr-FR", "Projects", false]] as const) {
    const context = await browser.newContext({ locale, ...(baseURL !== undefined && { baseURL }) });
    const page = await context.newPage();
    const names: string[] = [];
    page.on("request", (request) => names.push(new URL(request.url()).pathname));
    await page.goto("/v2/");
    await expect(page.getByRole("heading", { name: word })).toBeVisible();
    expect(names.some((name) => /\/assets\/de-/.test(name))).toBe(loads);
    await context.close();
  }
});

const main = ["/v2/", `${place}/runs`, `${place}/runs/$run?action=a0`, `${place}/tasks`, `${place}/tasks/shown.squares`, `${place}/triggers`, "/v2/system"];

for (const [size, viewport] of Object.entries({ ...sizes, middle: { width: 900, height: 700 } }))
  test(`German fits the ${size} window and is accessible`, async ({ page, runs }) => {
    test.setTimeout(180_000);
    await page.setViewportSize(viewport);
    await speak(page, "de");
    for (const path of main) {
      await page.goto(path.replace("$run", runs.squares));
      await expect(page.getByRole("main")).not.toBeEmpty();
      await expect(page.getByText("Lädt ").first()).toBeHidden();
      await expectAccessible(page);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(over, `what hangs over the window at ${path}`).toBeLessThanOrEqual(0);
    }
  });
