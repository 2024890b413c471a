import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { expect, test as base, type CDPSession, type Page } from "@playwright/test";
import { Demo, repository } from "./demo";
import { at, print } from "./figures";

// Measures what the console does with a run of 100,000 actions, and prints a table. CONSOLE_BENCH_URL names the page of such a run that is
// there already.
const actions = process.env["ACTIONS"] ?? "100000";

const test = base.extend<object, { address: string }>({
  address: [
    async ({}, provide) => {
      const known = process.env["CONSOLE_BENCH_URL"];
      if (known !== undefined) {
        await provide(known);
        return;
      }
      const demo = await Demo.make();
      try {
        await demo.start();
        await promisify(execFile)("go", ["run", "./tests/bench", "seed-run", "-demo", demo.data, "-name", "big", "-actions", actions], { cwd: repository });
        await provide(`${demo.url}/v2/domain/development/project/flytesnacks/runs/big`);
      } finally {
        await demo.stop();
      }
    },
    { scope: "worker", timeout: 900_000 },
  ],
});

const rows: (readonly [what: string, figure: string])[] = [];
const milliseconds = (value: number): string => (value < 1000 ? `${value.toFixed(0)} ms` : `${(value / 1000).toFixed(2)} s`);

const loading = 'progress[aria-label="Loading actions"]';

interface Seen {
  first?: number;
  all?: number;
}

/** Notes on the page when actions, and when all of them, were first there, in milliseconds since it was asked for. */
const watch = (page: Page) =>
  page.addInitScript((progress) => {
    const seen: Seen = {};
    Object.assign(window, { seen });
    const look = () => {
      if (document.querySelector('[role="treeitem"]')) {
        seen.first ??= performance.now();
        if (!document.querySelector(progress)) seen.all = performance.now();
      }
      if (seen.all === undefined) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, loading);

/** The frames that are drawn while something moves in each of them, in milliseconds, sorted. */
async function frames(page: Page, selector: string, move: "scroll" | "jump" | "zoom" | "pan"): Promise<readonly number[]> {
  return page.locator(selector).evaluate(async (element, how) => {
    const taken: number[] = [];
    const { left, top, width, height } = element.getBoundingClientRect();
    const frame = () => new Promise<number>((drawn) => requestAnimationFrame(drawn));
    const wheel = (deltaX: number, deltaY: number, ctrlKey: boolean) =>
      (element.querySelector("canvas") ?? element).dispatchEvent(
        new WheelEvent("wheel", { deltaX, deltaY, ctrlKey, bubbles: true, cancelable: true, clientX: left + width * 0.6, clientY: top + height / 2 }),
      );
    let before = await frame();
    for (let n = 0; n < 240; n++) {
      if (how === "scroll") element.scrollTop += 90;
      else if (how === "jump") element.scrollTop = ((n * 7919) % 100) * 0.01 * element.scrollHeight;
      else if (how === "zoom") wheel(0, n % 120 < 60 ? -40 : 40, true);
      else wheel(n % 120 < 60 ? 30 : -30, 0, false);
      const now = await frame();
      taken.push(now - before);
      before = now;
    }
    return taken.sort((a, b) => a - b);
  }, move);
}

const words = (sorted: readonly number[]): string => `${at(sorted, 0.5).toFixed(0)} / ${at(sorted, 0.95).toFixed(0)} / ${at(sorted, 1).toFixed(0)} ms`;

async function heap(session: CDPSession): Promise<string> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  return `${((metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? 0) / (1 << 20)).toFixed(0)} MiB`;
}

/** How long it takes until the page shows what was asked for, in milliseconds. */
async function takes(act: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await act();
  return performance.now() - begin;
}

test("a large run", async ({ page, context, address }) => {
  test.setTimeout(900_000);
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const tree = page.getByRole("tree");

  await watch(page);
  await page.goto(address);
  let seen: Seen = {};
  await expect(async () => {
    seen = await page.evaluate(() => (window as unknown as { seen: Seen }).seen);
    expect(seen.all).toBeDefined();
  }).toPass({ timeout: 120_000 });
  rows.push(["first actions on the screen", milliseconds(seen.first ?? 0)]);
  rows.push(["all actions there", milliseconds(seen.all ?? 0)]);
  rows.push(["memory of scripts, tree closed", await heap(session)]);
  rows.push(["all opened", milliseconds(await takes(async () => {
    await page.getByRole("button", { name: "Expand all" }).click();
    await expect(tree.getByRole("treeitem").nth(10)).toBeVisible();
  }))]);
  rows.push(["tree, scrolling: frames p50 / p95 / longest", words(await frames(page, '[role="tree"]', "scroll"))]);
  rows.push(["tree, jumping anywhere: frames", words(await frames(page, '[role="tree"]', "jump"))]);
  rows.push(["found by text, as typed", milliseconds(await takes(async () => {
    await page.getByRole("searchbox", { name: /^Find actions/ }).fill("1");
    await expect(page.getByRole("status").filter({ hasText: "match" })).toBeVisible();
  }))]);
  await page.getByRole("searchbox", { name: /^Find actions/ }).fill("");
  await expect(page.getByRole("status").filter({ hasText: "match" })).toBeHidden();
  rows.push(["memory of scripts, tree open", await heap(session)]);

  rows.push(["timeline drawn", milliseconds(await takes(async () => {
    await page.getByRole("tab", { name: "Timeline" }).click();
    await expect(page.getByRole("listbox", { name: /^Timeline of/ }).getByRole("option").first()).toBeAttached();
  }))]);
  const timeline = '[data-testid="timeline"] [role="listbox"]';
  rows.push(["timeline, scrolling: frames", words(await frames(page, timeline, "scroll"))]);
  rows.push(["timeline, zooming: frames", words(await frames(page, timeline, "zoom"))]);
  rows.push(["timeline, panning: frames", words(await frames(page, timeline, "pan"))]);
  rows.push(["memory of scripts, timeline", await heap(session)]);

  rows.push(["graph drawn", milliseconds(await takes(async () => {
    await page.getByRole("tab", { name: "Graph" }).click();
    await expect(page.getByTestId("graph")).toBeVisible();
    await expect(page.getByText(/^Loading/)).toBeHidden();
  }))]);
  rows.push(["memory of scripts, graph", await heap(session)]);

  print(`${actions} actions, ${availableParallelism()} cores`, rows);
});
