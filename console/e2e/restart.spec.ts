import { Demo } from "./demo";
import { start } from "./start";
import { actions, expect, place, test } from "./test";

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
  } finally {
    await context.close();
    await demo.stop();
  }
});
