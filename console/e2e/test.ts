import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test as base, type Locator, type Page } from "@playwright/test";
import type axe from "axe-core";
import { withoutColorSchemes, withTypedText } from "./firefox";
import type { Prepared } from "./setup";
import { start, type Wanted } from "./start";

interface Shared {
  readonly url: string;
  readonly home: string;
  readonly runs: Prepared;
}

interface Fixtures {
  /** The runs that were there before the first test. */
  readonly runs: Prepared;
  /** The home of the SDK. */
  readonly home: string;
  /** Starts one more run through the SDK. */
  readonly launch: (wanted: Wanted) => Promise<string>;
  /** Errors of the page, breaches of its policy, and requests to other origins than its own and the object store's. The test fails if there are any. */
  readonly complaints: string[];
}

const shared = (): Shared => JSON.parse(process.env["CONSOLE_E2E"] ?? "") as Shared;

export { expect };
export const test = base.extend<Fixtures>({
  browser: [
    async ({ browser, browserName }, provide) => {
      if (browserName === "firefox") withoutColorSchemes(browser);
      await provide(browser);
    },
    { scope: "worker" },
  ],
  context: async ({ context, browserName }, provide) => {
    if (browserName === "firefox") await withTypedText(context);
    await provide(context);
  },
  baseURL: async ({}, provide) => provide(shared().url),
  runs: async ({}, provide) => provide(shared().runs),
  home: async ({}, provide) => provide(shared().home),
  launch: async ({}, provide) =>
    provide(async (wanted) => {
      const [name] = await start(shared().url, shared().home, [wanted]);
      if (name === undefined) throw new Error("no run was started");
      return name;
    }),
  complaints: [
    async ({ page }, provide) => {
      const complaints: string[] = [];
      const origins = [shared().url, process.env["CONSOLE_E2E_STORE"] ?? shared().url].map((url) => new URL(url).origin);
      page.on("pageerror", (error) => complaints.push(`an error on the page: ${error.message}`));
      page.on("console", (message) => {
        // A report is in a frame of its own and may complain about what it may not.
        // 501 is the answer to what this server does not serve: pages are made for such servers as well.
        // A report that is not written yet is asked for until it is there.
        const passing = /\/blobs\/|\/report-frame|\/CreateDownloadLink$/.test(message.location().url);
        if (message.type() === "error" && !passing && !message.text().includes("status of 501")) complaints.push(`in the console: ${message.text()}`);
      });
      page.on("request", (request) => {
        const url = request.url();
        if (/^(http|ws)/.test(url) && !origins.includes(new URL(url).origin)) complaints.push(`a request to ${url}`);
      });
      await provide(complaints);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

export const place = "/v2/domain/development/project/flytesnacks";

/** The tree of a run's actions. */
export const actions = (page: Page): Locator => page.getByRole("tree");
/** All about the chosen action. */
export const panel = (page: Page): Locator => page.getByTestId("action-panel");

/** Waits until what has changed is on the screen. */
export const drawn = (page: Page): Promise<unknown> =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Looks at the whole page for what keeps people from using it, by all rules or by those that are named. It does not look in Firefox: without
 * a screen, the process of a page crashes there at some pages and at all dialogs. What Chromium finds is the same page.
 */
export async function expectAccessible(page: Page, only?: readonly string[]): Promise<void> {
  await drawn(page);
  if (page.context().browser()?.browserType().name() === "firefox") return;
  // Once per page: reading and compiling it costs as much as a check. Not as a script tag, which the page's policy forbids.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const found = await page.evaluate(async (rules) => {
    const { axe: tool } = window as unknown as { axe: typeof axe };
    const { violations } = await tool.run(document, { resultTypes: ["violations"], iframes: false, ...(rules && { runOnly: [...rules] }) });
    return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary ?? ""}`) }));
  }, only);
  expect(found.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
}
