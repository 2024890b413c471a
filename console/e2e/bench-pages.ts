import { availableParallelism } from "node:os";
import type { Locator, Page } from "@playwright/test";
import { at, print } from "./figures";
import setup from "./setup";
import { actions, place, test as base } from "./test";

// Measures how long a page that was open before takes to come back: from the click until what it is for is on the screen. ROUNDS is how
// often each of them is opened. CONSOLE_E2E names a server with its runs, as in setup.ts.
const rounds = Number(process.env["ROUNDS"] ?? "40");

const test = base.extend<object, { served: boolean }>({
  served: [
    async ({}, provide) => {
      const stop = await setup();
      await provide(true);
      await stop();
    },
    { scope: "worker", auto: true, timeout: 900_000 },
  ],
});

/** A page: the link to it on the page before, and what it is for. */
interface Step {
  readonly name: string;
  readonly link: (page: Page, run: string) => Locator;
  readonly selector: string;
  readonly text: RegExp;
}

const main = (page: Page) => page.getByRole("main");
const nav = (title: string | RegExp) => (page: Page) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: title });

const steps: readonly Step[] = [
  { name: "runs", link: nav("Runs"), selector: '[data-testid="run-row"]', text: /./ },
  { name: "run", link: (page, run) => page.locator(`[data-testid="run-row"][data-name="${run}"]`).getByRole("link").first(), selector: '[role="treeitem"]', text: /./ },
  { name: "action", link: (page) => actions(page).getByRole("treeitem").last(), selector: '[data-testid="action-panel"] h2', text: /^square\b/ },
  { name: "tasks", link: nav("Tasks"), selector: '[data-testid="health-row"]', text: /./ },
  { name: "task", link: (page) => main(page).getByRole("link", { name: "shown.squares", exact: true }).first(), selector: "h1", text: /^shown\.squares$/ },
  { name: "problems", link: nav("Problems"), selector: '[data-testid="problem-row"]', text: /./ },
  { name: "triggers", link: nav("Triggers"), selector: "main table", text: /on_figures/ },
  { name: "costs", link: nav("Costs"), selector: '[data-testid="cost-row"]', text: /./ },
  { name: "inbox", link: nav(/^Inbox/), selector: "main article", text: /./ },
  { name: "home", link: (page) => page.getByRole("link", { name: "flyte-binary, all projects" }), selector: '[aria-label="Domains of flytesnacks"]', text: /./ },
];

/** Clicks, and gives the milliseconds from the click until the frame with what was asked for is drawn. */
async function opened(page: Page, { name, selector, text }: Step, link: Locator): Promise<number> {
  await link.waitFor();
  const absent = await page.evaluate(
    ([where, words]) => {
      const there = () => [...document.querySelectorAll(where)].some((element) => new RegExp(words).test(element.textContent) && element.checkVisibility());
      const measure = (drawn: (taken: number) => void) => {
        const click = ({ timeStamp }: MouseEvent) => {
          const look = () => {
            if (!there()) {
              requestAnimationFrame(look);
              return;
            }
            // A message comes after the frame is drawn, of which this is the beginning.
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => drawn(performance.now() - timeStamp);
            port2.postMessage(undefined);
          };
          requestAnimationFrame(look);
        };
        addEventListener("click", click, { capture: true, once: true });
      };
      Object.assign(window, { opened: new Promise(measure) });
      return !there();
    },
    [selector, text.source] as const,
  );
  if (!absent) throw new Error(`what ${name} is for is there before the click`);
  await link.click();
  return page.evaluate(() => (window as unknown as { opened: Promise<number> }).opened);
}

test("between pages", async ({ page, runs }) => {
  test.setTimeout(900_000);
  const taken = new Map<string, number[]>(steps.map(({ name }) => [name, []]));
  await page.setViewportSize({ width: 1280, height: 2400 }); // the list of runs shows all of them
  await page.goto(`${place}/costs`);
  for (let round = 0; round <= rounds; round++) {
    for (const step of steps) {
      const milliseconds = await opened(page, step, step.link(page, runs.squares));
      if (round > 0) taken.get(step.name)?.push(milliseconds); // the first visit loads the page
    }
  }
  const words = (values: readonly number[]): string => {
    const sorted = values.toSorted((a, b) => a - b);
    return [0.5, 0.99, 1].map((share) => at(sorted, share).toFixed(0).padStart(4)).join(" / ") + " ms";
  };
  print(`${String(rounds)} visits of each page, ${String(availableParallelism())} cores; from the click: p50 / p99 / longest`, [
    ...[...taken].map(([name, values]) => [name, words(values)] as const),
    ["all", words([...taken.values()].flat())],
  ]);
});
