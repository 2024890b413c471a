import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test as base, type Page } from "@playwright/test";
import type axe from "axe-core";
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
  /** Starts one more run through the SDK. */
  readonly launch: (wanted: Wanted) => Promise<string>;
  /** What the page did wrong: it broke, broke its policy, or asked for anything beyond its own origin. The test fails when there is any. */
  readonly complaints: string[];
}

const shared = (): Shared => JSON.parse(process.env["CONSOLE_E2E"] ?? "") as Shared;

export { expect };
export const test = base.extend<Fixtures>({
  baseURL: async ({}, provide) => provide(shared().url),
  runs: async ({}, provide) => provide(shared().runs),
  launch: async ({}, provide) =>
    provide(async (wanted) => {
      const [name] = await start(shared().url, shared().home, [wanted]);
      if (name === undefined) throw new Error("no run was started");
      return name;
    }),
  complaints: [
    async ({ page }, provide) => {
      const complaints: string[] = [];
      const origin = new URL(shared().url).origin;
      page.on("pageerror", (error) => complaints.push(`an error on the page: ${error.message}`));
      page.on("console", (message) => {
        if (message.type() === "error" && /Content.Security.Policy/i.test(message.text()) && !message.location().url.includes("/blobs/")) complaints.push(message.text());
      });
      page.on("request", (request) => {
        const url = request.url();
        if (url.startsWith("http") && !url.startsWith(origin) && !/^http:\/\/(localhost|127\.0\.0\.1):/.test(url)) complaints.push(`a request to ${url}`);
      });
      await provide(complaints);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

export const place = "/v2/domain/development/project/flytesnacks";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Looks at the whole page for what keeps people from using it. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axeSource); // not as a script tag: the page's policy forbids those
  const found = await page.evaluate(async () => {
    const { axe: tool } = window as unknown as { axe: typeof axe };
    const { violations } = await tool.run(document, { resultTypes: ["violations"], iframes: false });
    return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary ?? ""}`) }));
  });
  expect(found.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
}
