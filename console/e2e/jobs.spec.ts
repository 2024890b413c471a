import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "@playwright/test";
import { Batch } from "./batch";
import { client } from "./client";
import { Demo } from "./demo";
import { drawn, expect, expectAccessible, panel, place, test } from "./test";

// Tasks that are not one pod: jobs of a connector, and members of one attempt. The demo is one of its own, since its connector goes away.

let demo: Demo;
let batch: Batch;
let context: BrowserContext | undefined;
let page: Page;

interface Wanted {
  readonly of: string;
  readonly task: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly wait?: boolean;
}

/** Starts runs, at the same time, and gives the name of the first. */
async function launch(...wanted: readonly Wanted[]): Promise<string> {
  const { stdout, stderr } = await client(demo.folder, "python", ["elsewhere.py", new URL(demo.url).host, JSON.stringify(wanted)]);
  const [name] = JSON.parse(stdout.trim().split("\n").at(-1) || "[]") as string[];
  if (name === undefined) throw new Error(`the SDK said ${stdout}\n${stderr}`);
  return name;
}

/** Takes pictures in both themes, for people to look at, where PICTURES names a folder. */
async function picture(name: string): Promise<void> {
  await expectAccessible(page);
  const folder = process.env["PICTURES"];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    await drawn(page);
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), animations: "disabled" });
  }
}

test.beforeAll(async ({ browser }) => {
  demo = await Demo.make([], ["--with", "jobset"]);
  batch = await Batch.make(join(demo.folder, "batch"));
  demo.configure(batch.endpoint);
  await batch.start();
  await demo.start();
  const made = await browser.newContext({ baseURL: demo.url, colorScheme: "light", viewport: { width: 1280, height: 900 } });
  context = made;
  page = await made.newPage();
});

test.afterAll(async () => {
  await context?.close();
  await demo.stop();
  await batch.stop();
});

test("the job of a connector: its state, links, log and metrics", async () => {
  const name = await launch({ of: "batch_tasks", task: "batch", inputs: { word: "hello" } });
  await page.goto(`${place}/runs/${name}`);
  const job = panel(page).getByTestId("job");
  await expect(job).toContainText("batch");
  await expect(job.getByText("in the directory")).toBeVisible();
  const key = batch.jobOf("hello") ?? "";
  await expect(job.locator("code").first()).toHaveText(key);
  await expect(job.getByRole("link", { name: "Batch console" })).toHaveAttribute("href", `https://batch.example/${key}`);
  await expect(panel(page).getByRole("link", { name: "Batch console" })).toHaveCount(1);
  const metrics = panel(page).getByTestId("job-metrics");
  await expect(metrics.getByRole("img", { name: /^slots/ })).toBeVisible();
  await expect(metrics).toContainText("shuffle");
  await expect(panel(page).getByRole("tab", { name: "Pod" })).toHaveCount(0);
  await picture("job-live");
  await panel(page).getByRole("tab", { name: "Logs" }).click();
  await expect(panel(page).getByRole("log")).toContainText("page 2 of hello");
  await picture("job-log");
  batch.becomes("hello", "SUCCEEDED");
  await panel(page).getByRole("tab", { name: "Summary" }).click();
  await expect(page.locator("header").getByText("Succeeded").first()).toBeVisible();
  await expect(metrics).toHaveCount(0);
  await expect(job.locator("code").first()).toHaveText(key);
  await picture("job-ended");
});

test("a job that fails, and a connector that is away", async () => {
  const failing = await launch({ of: "batch_tasks", task: "batch", inputs: { word: "refused" } });
  await page.goto(`${place}/runs/${failing}`);
  await expect(panel(page).getByTestId("failure")).toContainText("the batch system takes no such word");
  await picture("job-not-started");

  const name = await launch({ of: "batch_tasks", task: "batch", inputs: { word: "lonely" } });
  await expect.poll(() => batch.jobOf("lonely")).toBeDefined();
  await page.goto(`${place}/runs/${name}`);
  const job = panel(page).getByTestId("job");
  await expect(job.getByText("in the directory")).toBeVisible();
  await batch.stop();
  await expect(job.getByText(/of the connector failed/)).toBeVisible();
  await picture("job-away");

  await page.goto("/v2/system");
  const connectors = page.getByTestId("connectors");
  await expect(connectors.getByRole("row", { name: /batch/ })).toContainText("Does not answer");
  await connectors.scrollIntoViewIfNeeded();
  await picture("connectors-away");
  await batch.start();
  await expect(connectors.getByRole("row", { name: /batch/ })).toContainText("Answers");
  await expect(connectors.getByRole("row", { name: /batch/ })).toContainText("directory_batch");
  await picture("connectors");
  batch.becomes("lonely", "FAILED");
  await page.goto(`${place}/runs/${name}`);
  await expect(panel(page).getByTestId("failure")).toContainText("in the directory");
  await picture("job-failed");
});

test("the members of an attempt and their logs", async () => {
  const name = await launch({ of: "members", task: "talk", inputs: { word: "hello" }, wait: true });
  await page.goto(`${place}/runs/${name}?action=a0&tab=pod`);
  const pods = panel(page).locator("[data-tab=pod]");
  await expect(pods.getByRole("listitem").filter({ hasText: "kubectl describe pod" })).toHaveCount(2);
  await expect(pods.locator("span").getByText("primary", { exact: true })).toHaveCount(1); // a container has that name, too, as code
  await picture("members");
  await panel(page).getByRole("tab", { name: "Logs" }).click();
  const log = panel(page).getByRole("log");
  await expect(log).toContainText("member 0 of 2 says hello");
  const source = panel(page).getByLabel("Containers");
  await source.selectOption({ index: 3 });
  await expect(log).toContainText("member 1 of 2 says hello");
  await expect(log).not.toContainText("member 0 of 2");
  await picture("member-log");
  await source.selectOption("all");
  for (const rank of [0, 1]) await expect(log).toContainText(`member ${rank} of 2 says hello`);
  await picture("members-logs");
});

test("what an attempt uses over time, its peak and a suggestion", async () => {
  const busy = { of: "usage", task: "busy", inputs: { seconds: 4, mebibytes: 200 }, wait: true };
  const first = await launch(busy);
  await page.goto(`${place}/runs/${first}?action=a0&tab=resources`);
  await expect(panel(page).getByTestId("resources")).toContainText("needs three attempts that were measured");
  const name = await launch(busy, busy);
  await page.goto(`${place}/runs/${name}?action=a0&tab=resources`);
  const resources = panel(page).getByTestId("resources");
  await expect(resources.getByRole("img", { name: /^CPU/ })).toBeVisible();
  await expect(resources.getByTestId("resource-peaks").getByRole("row", { name: /^Memory/ })).toContainText("128 MiB");
  await expect(resources.getByTestId("suggestion")).toContainText("flyte.Resources(");
  await picture("usage");
});
