import { actions, expect, expectAccessible, panel, place, test } from "./test";

test("siblings of a map are told apart everywhere, found by their inputs, and filtered", async ({ page, launch }) => {
  test.setTimeout(300_000);
  const name = await launch({ task: "churn", inputs: { shards: 40 }, name: `nightly-${Date.now()}`, wait: true });

  // A name that people gave is found by typing it, as is the task.
  await page.goto(`${place}/runs`);
  for (const typed of [name.toUpperCase(), "shown.churn"]) {
    await page.getByRole("combobox", { name: "Filter runs" }).fill(typed);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("row").filter({ hasText: name })).toBeVisible();
    await expect(page.getByRole("row").filter({ hasText: "squares" })).toHaveCount(0);
    await page.getByRole("button", { name: "Clear filters" }).click();
  }
  await page.goto(`${place}/runs/${name}`);
  const lines = actions(page).getByRole("treeitem");
  await page.getByRole("button", { name: "Expand all" }).click();
  await expect(lines.filter({ hasText: "shard 7," })).toContainText("score_customers");
  await expect(lines.filter({ hasText: "shard 7," })).toContainText("shard 7, latam");
  await expect(lines.filter({ hasText: "shard 7," })).not.toContainText("large"); // all have the same model
  await expectAccessible(page);

  // Found by an input, by its name or by its value alone.
  const find = page.getByRole("searchbox", { name: /^Find actions/ });
  for (const [typed, matches] of [
    ["shard:7", "1 match"],
    ["latam", "2 matches"],
    ["region:emea depth:10", "14 matches"],
  ] as const) {
    await find.fill(typed);
    await expect(page.getByRole("status").filter({ hasText: matches })).toHaveText(matches);
  }
  await find.fill("shard:7");
  await lines.filter({ hasText: "shard 7," }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toHaveText("score_customers · shard 7, latam");
  await find.fill("");

  // The timeline draws on a canvas; its rows are there for screen readers.
  await page.getByRole("tab", { name: "Timeline" }).click();
  await expect(page.getByTestId("timeline").getByRole("option", { selected: true })).toContainText("score_customers · shard 7, latam");
  await page.getByRole("tab", { name: /^Failures/ }).click();
  await expect(page.getByRole("tabpanel").getByRole("button", { name: "score_customers · shard 23, latam" })).toBeVisible();

  // The children of the root, with a filter since there are many.
  await page.goto(`${place}/runs/${name}?action=a0`);
  const children = panel(page).getByRole("searchbox", { name: /^Find children/ });
  await children.fill("shard:23");
  await panel(page).getByRole("button", { name: "score_customers · shard 23, latam" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toHaveText("score_customers · shard 23, latam");

  // The palette.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("shard:7");
  await page.getByRole("option", { name: "Action score_customers · shard 7, latam" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toHaveText("score_customers · shard 7, latam");

  const second = await launch({ task: "churn", inputs: { shards: 40 }, wait: true });
  await page.goto(`${place}/compare?a=${name}&b=${second}`);
  const timings = page.getByTestId("compare-timings");
  await timings.getByRole("button", { name: "score_customers" }).click();
  await expect(timings.getByRole("row").filter({ hasText: "shard 7, latam" })).toBeVisible();
});
