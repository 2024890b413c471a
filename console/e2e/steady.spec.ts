import { screens } from "./screens";
import { expect, test } from "./test";

const pages = ["home", "runs", "run", "run-timeline", "tasks", "task", "triggers", "problems", "costs", "waiting", "inbox", "apps", "artifacts"];

/** As much of a window may move while a page loads: what people do not notice. */
const unnoticed = 0.05;

interface Shift extends PerformanceEntry {
  readonly value: number;
  readonly hadRecentInput: boolean;
  readonly sources: readonly { readonly node: Node | null }[];
}

for (const { name, open } of screens.filter((screen) => pages.includes(screen.name))) {
  test(`nothing jumps while ${name} loads`, async ({ page, runs }) => {
    await page.addInitScript(() => {
      const shifts: { value: number; what: string }[] = [];
      Object.assign(window, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as Shift[]) {
          const what = entry.sources.map(({ node }) => (node instanceof Element ? `${node.tagName} ${node.textContent.slice(0, 40)}` : (node?.textContent ?? ""))).join("; ");
          if (!entry.hadRecentInput) shifts.push({ value: entry.value, what });
        }
      }).observe({ type: "layout-shift", buffered: true });
    });
    await open(page, runs);
    // Pages that watch are never without a request.
    await expect(page.getByText(/^Loading/)).toHaveCount(0);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const shifts = await page.evaluate(() => (window as unknown as { shifts: readonly { value: number; what: string }[] }).shifts);
    const sum = shifts.reduce((all, { value }) => all + value, 0);
    expect(sum, shifts.map(({ value, what }) => `${value.toFixed(3)}: ${what}`).join("\n")).toBeLessThan(unnoticed);
  });
}
