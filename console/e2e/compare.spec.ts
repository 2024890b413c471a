import { expect, expectAccessible, place, test } from "./test";

test("a run is compared with a selected run", async ({ page, runs, launch }) => {
  const other = await launch({ task: "squares", inputs: { n: 3 }, wait: true });
  await page.goto(`${place}/runs/${runs.squares}`);
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: /^Compare/ }).click();
  await expect(page.getByTestId("side-a")).toContainText(runs.squares);
  await expectAccessible(page);
  await page.getByTestId("run-picker").getByRole("button").filter({ hasText: other }).click();
  await expect(page).toHaveURL(new RegExp(`a=${runs.squares}&b=${other}`));
  await expect(page.getByTestId("side-b")).toContainText(other);

  const inputs = page.getByTestId("compare-inputs");
  await expect(inputs.locator("del")).toContainText('"n": 4');
  await expect(inputs.locator("ins")).toContainText('"n": 3');
  const outputs = page.getByTestId("compare-outputs");
  await expect(outputs.locator("del")).toContainText("14");
  await expect(outputs.locator("ins")).toContainText("5");

  const facts = page.getByTestId("compare-facts");
  await expect(facts.getByRole("row", { name: /^Phase/ })).toBeHidden();
  await facts.getByRole("button", { name: /^Show all/ }).click();
  await expect(facts.getByRole("row", { name: /^Phase/ })).toContainText("Succeeded");

  const timings = page.getByTestId("compare-timings");
  await timings.getByRole("button", { name: "square", exact: true }).click();
  await expect(timings.getByRole("row").filter({ hasText: "only in A" })).toHaveCount(1);
  await expectAccessible(page);

  await page.getByRole("button", { name: "Swap" }).click();
  await expect(page.getByTestId("side-a")).toContainText(other);
  await page.setViewportSize({ width: 390, height: 800 });
  await expect(page.getByTestId("compare-timings")).toBeVisible();
  const over = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await expect.poll(over, "how much wider the page is than a phone").toBeLessThanOrEqual(0);
});

test("a comparison without runs prompts for both", async ({ page, runs }) => {
  await page.goto(`${place}/compare`);
  await expect(page.getByTestId("run-picker")).toHaveCount(2);
  const first = page.getByTestId("run-picker").first();
  await first.getByRole("searchbox").fill(runs.squares);
  await first.getByRole("button").filter({ hasText: runs.squares }).click();
  await expect(page.getByTestId("side-a")).toContainText(runs.squares);
  await expect(page.getByTestId("run-picker")).toHaveCount(1);
});

test("numbers of many runs are a plot", async ({ page, runs, launch }) => {
  const other = await launch({ task: "squares", inputs: { n: 3 }, wait: true });
  await page.goto(`${place}/compare?plot=${runs.squares},${other}`);
  const plot = page.getByTestId("compare-plot");
  await expect(plot.getByRole("link", { name: `${runs.squares}: n 4, o0 14` })).toBeVisible();
  await expect(plot.getByRole("table").getByRole("row").filter({ hasText: other })).toContainText("5");
  await expectAccessible(page);
  await plot.getByLabel("Up").selectOption("n");
  await plot.getByRole("link", { name: `${other}: n 3, n 3` }).click();
  await expect(page).toHaveURL(new RegExp(`/runs/${other}`));
});
