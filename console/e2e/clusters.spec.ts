import { join } from "node:path";
import { Demo } from "./demo";
import { call, Link } from "./link";
import { sizes, themes } from "./screens";
import { start } from "./start";
import { expect, expectAccessible, panel, place, test as base } from "./test";

const registry = "flytebinary.clusters.v1.ClusterRegistryService";
const gibibyte = 2 ** 30;
const nodes = {
  capacity: { cpu: 256_000, memory: 1024 * gibibyte, "nvidia.com/gpu": 16 },
  free: { cpu: 200_500, memory: 900 * gibibyte, "nvidia.com/gpu": 3 },
  largest: { cpu: 64_000, memory: 256 * gibibyte, "nvidia.com/gpu": 8 },
};

/** A server with its own cluster, default, and the cluster east, which has GPUs and runs nothing. */
const test = base.extend<object, { readonly two: { readonly demo: Demo; readonly link: Link } }>({
  two: [
    async ({}, provide) => {
      const demo = await Demo.make();
      let link: Link | undefined;
      try {
        await demo.start();
        link = await Link.open(demo.url, "east", nodes, {
          version: "1.2.3",
          plugins: ["pod", "ray"],
          taskTypes: ["ray"],
          labels: { region: "eu-north-1" },
        });
        await call(demo.url, `${registry}/UpdateCluster`, { name: "east", weight: 100, pools: { names: ["gpu"] } });
        await provide({ demo, link });
      } catch (error) {
        console.error(demo.log());
        throw error;
      } finally {
        link?.close();
        await demo.stop();
      }
    },
    { scope: "worker", timeout: 600_000 },
  ],
  baseURL: async ({ two }, provide) => provide(two.demo.url),
  complaints: async ({}, provide) => provide([]), // those of the other tests are about their own server
});

test("clusters are seen, drained and removed with their work", async ({ page, two: { demo, link } }) => {
  test.setTimeout(900_000);
  const [run = ""] = await start(demo.url, demo.folder, [{ task: "squares", inputs: { n: 2 } }]);

  await page.goto(`${place}/runs/${run}?action=a0`);
  await expect(panel(page).getByRole("link", { name: "east" })).toBeVisible();
  await expect(panel(page)).toContainText("east had the most free");
  await panel(page).getByRole("link", { name: "east" }).click();
  await expect(page.getByRole("heading", { name: "Cluster east" })).toBeVisible();
  await expect(page.locator("[data-resource='nvidia.com/gpu']")).toContainText("13 of 16 asked");
  await expect(page.getByRole("table", { name: "Runs" })).toContainText(run);
  await expect(page.getByTestId("waits")).toContainText(run);
  await expect(page.getByTestId("events")).toContainText("Connected for the first time");

  await page.goto(`${place}/runs?cluster=east`);
  const listed = page.getByTestId("run-row").and(page.locator(`[data-name$="${run}"]`));
  await expect(listed.locator("[data-column=cluster]")).toHaveText("east");
  await expect(page.getByRole("combobox", { name: "Filter runs" })).toHaveValue("cluster:east");
  await page.goto(`${place}/runs?cluster=default`);
  await expect(page.getByText("No runs match these filters")).toBeVisible();

  const pictures = process.env["CONSOLE_PICTURES"];
  const look = async (name: string, path: string) => {
    for (const [size, viewport] of Object.entries({ ...sizes, tablet: { width: 900, height: 800 } })) {
      await page.setViewportSize(viewport);
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme });
        await page.goto(path);
        await expect(page.getByTestId("health").first()).toBeVisible();
        await expect(page.getByText(/^Loading/)).toHaveCount(0);
        await expectAccessible(page);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        expect(over, `what hangs over the window of ${name}, ${size}`).toBeLessThanOrEqual(0);
        if (pictures !== undefined) await page.screenshot({ path: join(pictures, `two-${name}-${size}-${colorScheme}.png`), fullPage: true });
      }
    }
  };
  await look("clusters", "/v2/clusters");
  await look("cluster", "/v2/clusters/east");
  if (pictures !== undefined) {
    await page.goto(`${place}/runs?cluster=east`);
    await expect(listed).toBeVisible();
    await page.screenshot({ path: join(pictures, "two-runs.png") });
  }
  await page.setViewportSize({ width: 1280, height: 800 });

  const dialog = page.getByRole("dialog");
  await page.goto("/v2/clusters");
  const row = page.locator("[data-testid=cluster-row][data-name=east]");
  await expect(row.getByTestId("health")).toHaveText("Ready");
  await row.getByRole("button", { name: "Drain east" }).click();
  await dialog.getByLabel("Time limit").fill("2h");
  await dialog.getByLabel("Note").fill("end of lease");
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, "two-drain.png") });
  await dialog.getByRole("button", { name: "Drain" }).click();
  await expect(row.getByTestId("health")).toContainText(/Draining, 1 left, until .*end of lease/);

  await row.getByRole("button", { name: "Remove east" }).click();
  await expect(dialog).toContainText("It still has 1 action");
  await dialog.getByLabel("Name of the cluster").fill("east");
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, "two-remove.png") });
  await dialog.getByRole("button", { name: "Remove with its work" }).click();
  await expect(row).toHaveCount(0);
  link.close();
  await page.goto(`${place}/runs/${run}?action=a0`);
  await expect(page.getByRole("banner").or(page.locator("header")).getByText("Succeeded").first()).toBeVisible({ timeout: 300_000 });
  await expect(panel(page)).toContainText("default");
});

test("a cluster that says nothing is away", async ({ page, two: { demo } }) => {
  const west = await Link.open(demo.url, "west", nodes);
  await page.goto("/v2/clusters/west");
  await expect(page.getByTestId("health")).toHaveText("Ready");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Settings of west" }).click();
  await dialog.getByLabel("Labels").fill("re gion=eu");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toContainText("cannot be the key of a label");
  await dialog.getByLabel("Labels").fill("region=eu");
  await dialog.getByLabel("Weight").fill("0");
  await dialog.getByLabel("Cluster pools").fill("spare");
  await expectAccessible(page);
  if (process.env["CONSOLE_PICTURES"] !== undefined) await page.screenshot({ path: join(process.env["CONSOLE_PICTURES"], "two-settings.png") });
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText("region=eu (set by operators)")).toBeVisible();
  await expect(page.getByTestId("events")).toContainText("labels region=eu; weight 0; pools spare");
  west.close();
  await expect(page.getByTestId("health")).toContainText(/Away since .*given up at/);
  await expect(page.getByTestId("events")).toContainText("Went away", { timeout: 120_000 });
  if (process.env["CONSOLE_PICTURES"] !== undefined) await page.screenshot({ path: join(process.env["CONSOLE_PICTURES"], "two-away.png"), fullPage: true });
});

test("the log of what runs in a cluster that is away keeps its lines and says why there are no more", async ({ page, two: { demo } }) => {
  test.setTimeout(600_000);
  const north = await Link.open(demo.url, "north", nodes, { taskTypes: ["python"], plugins: ["pod"] });
  try {
    await call(demo.url, `${registry}/UpdateCluster`, { name: "north", weight: 1000 });
    // A new cluster counts from when the placement has read that it is there.
    let run = "";
    await expect(async () => {
      [run = ""] = await start(demo.url, demo.folder, [{ task: "squares", inputs: { n: 2 } }]);
      await page.goto(`${place}/runs/${run}?action=a0`);
      await expect(panel(page).getByRole("link", { name: "north" })).toBeVisible({ timeout: 30_000 });
    }).toPass({ timeout: 240_000 });
    await north.runs({ project: "flytesnacks", domain: "development", name: run }, "a0", ["the first line", "the second line"]);
    await page.goto(`${place}/runs/${run}?action=a0&tab=logs`);
    const log = panel(page).getByRole("log");
    await expect(log).toContainText("the second line", { timeout: 60_000 });
    await expect(panel(page)).not.toContainText("is away since");

    north.close();
    await expect(panel(page)).toContainText(/Cluster north is away since .*the logs of what runs there continue when it is back/, { timeout: 120_000 });
    await expect(panel(page)).toContainText("Shown are the 2 lines that came before.");
    await expect(log).toContainText("the first line");
    await expect(log).toContainText("the second line");
    await expectAccessible(page);
    if (process.env["CONSOLE_PICTURES"] !== undefined) await page.screenshot({ path: join(process.env["CONSOLE_PICTURES"], "two-away-log.png") });
  } finally {
    north.close();
    await call(demo.url, `${registry}/RemoveCluster`, { name: "north", force: true });
  }
});
