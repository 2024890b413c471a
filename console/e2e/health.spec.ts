import { expect, expectAccessible, place, test } from "./test";

test("what got slower is one click away, and every column sorts", async ({ page }) => {
  await page.goto(`${place}/runs`);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Tasks", exact: true }).click();
  const table = page.getByRole("region", { name: "Health of tasks" });
  await expect(table.getByTestId("health-row").first()).toBeVisible();
  await expect(table.getByRole("columnheader", { name: "Got slower" })).toHaveAttribute("aria-sort", "descending");
  await expectAccessible(page);
  for (const name of ["Median", "p90", "Failed", "Cache hits", "Core-h"]) {
    await table.getByRole("button", { name, exact: true }).click();
    await expect(table.getByRole("columnheader", { name, exact: true })).toHaveAttribute("aria-sort", "descending");
    await expect(table.getByTestId("health-row").first()).toBeVisible();
  }
  await expect(page).toHaveURL(/sort=cost/);
  await table.getByRole("button", { name: "Task", exact: true }).click();
  const names = () => table.getByTestId("health-row").evaluateAll((rows) => rows.map((row) => row.dataset["name"] ?? ""));
  await expect.poll(names).toEqual([...(await names())].sort());
  await page.getByRole("searchbox", { name: "Find tasks" }).fill("squares");
  await expect(table.getByTestId("health-row").first()).toHaveAttribute("data-name", /squares/);
});

test("rows are copied as they are shown", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${place}/tasks?q=shown.squares`);
  await expect(page.getByTestId("health-row")).toHaveCount(1);
  await page.getByRole("button", { name: "Copy as: Health of tasks" }).click();
  await page.getByRole("menuitem", { name: "CSV" }).click();
  await expect(page.getByText("Copied 1 row as CSV", { exact: true })).toBeVisible();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toMatch(/^Task,Last 30,Ended,/);
  expect(copied).toMatch(/shown\.squares last ended \d{4}-/);
});

test("a task lists its actions, also those inside other runs, and its pipeline is a grid", async ({ page }) => {
  await page.goto(`${place}/tasks/shown.squares?tab=pipeline`);
  const grid = page.getByTestId("pipeline");
  const row = grid.locator("tbody tr").first();
  await expect(row).toHaveAttribute("data-name", "shown.squares");
  await expectAccessible(page);
  await row.getByRole("link").last().click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/`));
  await page.goto(`${place}/tasks/shown.squares?tab=actions`);
  await expect(page.getByTestId("task-action").first()).toBeVisible();
  await expectAccessible(page);
});

test("what costs is one click away: hours without prices, with the setting that gives money", async ({ page }) => {
  await page.goto(`${place}/runs`);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Costs", exact: true }).click();
  await expect(page.getByTestId("cost-row").first()).toBeVisible();
  await expect(page.getByTestId("cost-total")).toContainText("core-h");
  await expect(page.getByText("runs.cost.prices")).toBeVisible();
  await expectAccessible(page);
  for (const name of ["By run", "By owner", "By label"]) {
    await page.getByRole("tab", { name }).click();
    await expect(page.getByRole("tabpanel", { name })).toBeVisible();
  }
  await page.getByLabel("Time range").selectOption("30 days");
  await page.getByRole("tab", { name: "By task" }).click();
  await expect(page.getByTestId("cost-row").first()).toBeVisible();
  await page.getByRole("link", { name: "All projects", exact: true }).click();
  await expect(page.getByTestId("cost-row").filter({ hasText: "flytesnacks / development" })).toBeVisible();
});

test("two versions of a task are compared", async ({ page }) => {
  await page.goto(`${place}/tasks/shown.squares?tab=versions`);
  const compare = page.getByTestId("compare-versions");
  await expect(compare.getByRole("heading", { name: "Environment and interface" })).toBeVisible();
  await expect(compare.getByText(/same|Not yet run|Code/).first()).toBeVisible();
});
