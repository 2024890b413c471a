import { Demo } from "./demo";
import { start } from "./start";
import { actions, expect, panel, place, test } from "./test";

test("a page survives a server restart, shows a banner and catches up", async ({ browser }) => {
  test.setTimeout(400_000);
  const demo = await Demo.make();
  const context = await browser.newContext({ baseURL: demo.url });
  try {
    await demo.start();
    const [name] = await start(demo.url, demo.folder, [{ task: "long", inputs: { seconds: 20 } }]);
    const page = await context.newPage();
    await page.goto(`${place}/runs/${name ?? ""}`);
    const root = actions(page).getByRole("treeitem").first().locator("[data-phase]");
    await expect(root).toHaveAttribute("data-phase", "running", { timeout: 120_000 });
    await demo.kill();
    const banner = page.getByText("Connection to the server lost");
    await expect(banner).toBeVisible();
    await expect(root).toHaveAttribute("data-phase", "running");
    await demo.start();
    await expect(banner).toBeHidden({ timeout: 120_000 });
    await expect(root).toHaveAttribute("data-phase", "succeeded", { timeout: 180_000 });
  } catch (error) {
    throw new Error(`the demo's log:\n${demo.log()}`, { cause: error });
  } finally {
    await context.close();
    await demo.stop();
  }
});

test("a part of the console that cannot be loaded is loaded when the server is back", async ({ page, runs, complaints }) => {
  let lost = true;
  await page.route(/\/v2\/(assets\/panel-.*\.js)?$/, async (route) => {
    if (lost && (route.request().resourceType() === "script" || route.request().method() === "HEAD")) await route.abort("connectionrefused");
    else await route.continue();
  });
  await page.goto(`${place}/runs/${runs.squares}`);
  const banner = page.getByText("Connection to the server lost");
  await expect(banner).toBeVisible();
  lost = false;
  await expect(banner).toBeHidden();
  await expect(panel(page).getByText("Phases")).toBeVisible();
  complaints.length = 0; // the browser reports requests that failed
});
