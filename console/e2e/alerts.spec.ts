import type { BrowserContext, Page } from "@playwright/test";
import { expect, expectAccessible, place, test } from "./test";

interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
}

/** Stands in for the browser's notifications: pages keep what they show, and can be hidden. */
async function stub(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const shown: object[] = [];
    let asked = 0;
    let hidden = false;
    class Fake {
      onclick: (() => void) | undefined;
      static get permission() {
        return localStorage.getItem("test-permission") ?? "default";
      }
      static requestPermission() {
        asked += 1;
        localStorage.setItem("test-permission", "granted");
        return Promise.resolve("granted");
      }
      constructor(title: string, { body, tag }: { body: string; tag: string }) {
        shown.push({ title, body, tag, click: () => this.onclick?.() });
      }
      close() {}
    }
    Object.defineProperty(document, "visibilityState", { get: () => (hidden ? "hidden" : "visible") });
    Object.assign(window, {
      Notification: Fake,
      shown: () => shown,
      asked: () => asked,
      hide: (now: boolean) => {
        hidden = now;
        document.dispatchEvent(new Event("visibilitychange"));
      },
    });
  });
}

const hide = (page: Page, now = true) => page.evaluate((value) => (window as unknown as { hide: (now: boolean) => void }).hide(value), now);
const asked = (page: Page) => page.evaluate(() => (window as unknown as { asked: () => number }).asked());
const shown = (page: Page): Promise<readonly Shown[]> =>
  page.evaluate(() => (window as unknown as { shown: () => readonly Shown[] }).shown().map(({ title, body, tag }) => ({ title, body, tag })));

test("the browser tells of an approval once, in one of two tabs, while none is visible", async ({ page, context, launch }) => {
  await stub(context);
  await page.goto(`${place}/inbox`);
  const button = page.getByRole("button", { name: "Browser notifications" });
  await expect(button).toHaveAttribute("aria-pressed", "false");
  await expectAccessible(page);
  expect(await asked(page)).toBe(0);
  await button.click();
  await expect(button).toHaveAttribute("aria-pressed", "true");
  expect(await asked(page)).toBe(1);

  const other = await context.newPage();
  await other.goto(`${place}/runs`);
  await expect(other.getByRole("heading", { level: 1 })).toBeVisible();
  const tabs = [page, other];
  const about = async (run: string) => (await Promise.all(tabs.map(shown))).flat().filter(({ tag }) => tag.includes(`/${run}/`));
  // The first look has been made when it has been written down.
  await expect.poll(() => page.evaluate(() => localStorage.getItem("flyte-console:told"))).not.toBeNull();

  const seen = await launch({ task: "asking", inputs: { prompt: "Who looks?" } });
  await expect.poll(() => page.evaluate(() => localStorage.getItem("flyte-console:told"))).toContain(`/${seen}/`);
  expect(await about(seen), "a person looks").toEqual([]);

  await Promise.all(tabs.map((tab) => hide(tab)));
  const run = await launch({ task: "asking", inputs: { prompt: "Who sleeps?" } });
  await expect.poll(async () => (await about(run)).length).toBe(1);
  const [told] = await about(run);
  expect(told?.title).toMatch(/^Approval: /);
  expect(told?.body).toContain(run);
  expect(await about(seen), "what was seen is not told later").toEqual([]);

  // When the tab that notifies closes, the other one takes over and repeats nothing.
  const speaker = (await shown(page)).some(({ tag }) => tag.includes(`/${run}/`)) ? page : other;
  const rest = speaker === page ? other : page;
  if (speaker === page) await page.goto("about:blank");
  else await other.close();
  tabs.splice(0, 2, rest);
  const next = await launch({ task: "asking", inputs: { prompt: "Who is left?" } });
  await expect.poll(async () => (await about(next)).length).toBe(1);
  expect(await about(run)).toHaveLength(rest === speaker ? 1 : 0);

  // A click leads to what it is about.
  await rest.evaluate((name) => {
    const list = (window as unknown as { shown: () => readonly (Shown & { readonly click: () => void })[] }).shown();
    list.find(({ tag }) => tag.includes(`/${name}/`))?.click();
  }, next);
  await expect(rest).toHaveURL(new RegExp(`/runs/${next}\\?action=`));
});
