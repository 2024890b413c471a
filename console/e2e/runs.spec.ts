import type { Page } from "@playwright/test";
import { expect, expectAccessible, place, test } from "./test";

const row = (page: Page, run: string) => page.getByRole("row").filter({ hasText: run });
const filter = (page: Page) => page.getByRole("searchbox", { name: "Filter runs" });

test("runs are listed with their phase and link to their page", async ({ page, runs }) => {
  await page.goto(`${place}/runs`);
  await expect(row(page, runs.squares)).toContainText("Succeeded");
  await expect(row(page, runs.squares)).toContainText("team=kitchen");
  await expect(row(page, runs.failing)).toContainText("Failed");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await expectAccessible(page);
  await row(page, runs.squares).getByRole("link", { name: /squares/ }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/${runs.squares}`));
  await expect(page.getByRole("heading", { level: 1 })).toContainText("squares");
  await page.goBack();
  await expect(row(page, runs.failing)).toBeVisible();
});

test("a new run appears without a reload and is updated until it is terminal", async ({ page, launch }) => {
  await page.goto(`${place}/runs`);
  await expect(page.getByRole("table")).toBeVisible();
  const name = await launch({ task: "squares", inputs: { n: 2, words: "and are seen" } });
  await expect(row(page, name)).toBeVisible();
  await expect(row(page, name)).toContainText("Succeeded", { timeout: 120_000 });
});

test("runs are filtered by text, and the URL has the filter", async ({ page, runs }) => {
  await page.goto(`${place}/runs`);
  await expect(row(page, runs.squares)).toBeVisible();
  await filter(page).fill("phase:failed task:failing");
  await filter(page).press("Enter");
  await expect(row(page, runs.failing)).toBeVisible();
  await expect(row(page, runs.squares)).toBeHidden();
  await expect(page).toHaveURL(/phases=failed/);
  const conditions = page.getByRole("list", { name: "Filters", exact: true });
  await expect(conditions.getByRole("listitem")).toHaveCount(3); // and what takes both away
  await page.reload();
  await expect(row(page, runs.failing)).toBeVisible();
  await expect(row(page, runs.squares)).toBeHidden();
  await conditions.getByRole("button", { name: "Clear filters" }).click();
  await expect(row(page, runs.squares)).toBeVisible();

  await filter(page).fill("label:team=kitchen");
  await filter(page).press("Enter");
  await expect(row(page, runs.squares)).toBeVisible();
  await expect(row(page, runs.failing)).toBeHidden();

  await filter(page).fill("colour:blue");
  await filter(page).press("Enter");
  await expect(page.getByRole("alert")).toContainText("colour:blue");
  await expectAccessible(page);
});

test("a search without matches says so", async ({ page }) => {
  await page.goto(`${place}/runs?task=nothing-has-this-name`);
  await expect(page.getByText("No runs match these filters")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Clear filters" }).last().click();
  await expect(page.getByRole("table")).toBeVisible();
});

test("every filter is in the form", async ({ page, runs }) => {
  await page.goto(`${place}/runs`);
  await page.getByRole("button", { name: "All filters" }).click();
  const dialog = page.getByRole("dialog", { name: "Filter runs" });
  await dialog.getByLabel("Only runs waiting for approval").check();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Apply" }).click();
  await expect(row(page, runs.asking)).toBeVisible({ timeout: 120_000 });
  await expect(row(page, runs.squares)).toBeHidden();
  await expect(page).toHaveURL(/paused=true/);
});

test("a view is saved under a name", async ({ page, runs }) => {
  await page.goto(`${place}/runs?labels=${encodeURIComponent('["team=kitchen"]')}`);
  await expect(row(page, runs.squares)).toBeVisible();
  await page.getByRole("button", { name: /^Views/ }).click();
  await page.getByRole("menuitem", { name: /^Save this view/ }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("The kitchen");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.goto(`${place}/runs`);
  await page.getByRole("button", { name: /^Views/ }).click();
  await expectAccessible(page);
  await page.getByRole("menuitem", { name: "The kitchen" }).click();
  await expect(page).toHaveURL(/team/);
  await expect(row(page, runs.failing)).toBeHidden();
});

test("columns can be selected and are remembered", async ({ page, runs }) => {
  await page.goto(`${place}/runs`);
  await expect(row(page, runs.squares)).toBeVisible();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Environment" }).click();
  await page.keyboard.press("Escape");
  await page.reload();
  await expect(page.getByRole("columnheader", { name: "Environment" })).toBeVisible();
});

test("runs are sorted by column headers", async ({ page, runs }) => {
  await page.goto(`${place}/runs`);
  await expect(row(page, runs.squares)).toBeVisible();
  await page.getByRole("columnheader", { name: "Duration" }).getByRole("button").click();
  await expect(page).toHaveURL(/sort=longest/);
  await expect(page.getByRole("columnheader", { name: "Duration" })).toHaveAttribute("aria-sort", "descending");
  await expect(row(page, runs.squares)).toBeVisible();
});

test("the keyboard moves between runs and selects them", async ({ page, runs }) => {
  await page.goto(`${place}/runs?sort=oldest`); // what starts meanwhile is added below
  await expect(row(page, runs.squares)).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.getByRole("row").nth(1).getByRole("link").first()).toBeFocused();
  await page.keyboard.press("j");
  await expect(page.getByRole("row").nth(2).getByRole("link").first()).toBeFocused();
  await page.keyboard.press("x");
  await expect(page.getByRole("region", { name: "Selected runs" })).toContainText("1 run selected");
});

test("runs are aborted in bulk, and refusals are reported", async ({ page, runs, launch }) => {
  const names = [await launch({ task: "long", labels: { many: "yes" } }), await launch({ task: "long", labels: { many: "yes" } })];
  await page.setViewportSize({ width: 1280, height: 6000 }); // rows outside of the view are not in the document
  await page.goto(`${place}/runs`);
  for (const name of [...names, runs.squares]) await row(page, name).getByRole("checkbox").check();
  const bar = page.getByRole("region", { name: "Selected runs" });
  await expect(bar).toContainText("3 runs selected");
  await expectAccessible(page);
  await bar.getByRole("button", { name: /^Abort/ }).click();
  const dialog = page.getByRole("dialog", { name: "Abort runs" });
  await expect(dialog).toContainText("Abort 2 runs?");
  await expect(dialog).toContainText("1 run already ended");
  await dialog.getByLabel("Reason").fill("too many cooks");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Abort 2 runs" }).click();
  await expect(dialog).toContainText("Aborting 2 runs");
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  for (const name of names) await expect(row(page, name)).toContainText("Aborted", { timeout: 60_000 });
});

test("runs are rerun in bulk", async ({ page, runs }) => {
  await page.goto(`${place}/runs?sort=oldest`);
  await row(page, runs.squares).first().getByRole("checkbox").check();
  await page.getByRole("region", { name: "Selected runs" }).getByRole("button", { name: /^Rerun/ }).click();
  const dialog = page.getByRole("dialog", { name: "Rerun" });
  await dialog.getByRole("button", { name: "Rerun 1 run" }).click();
  const made = dialog.getByRole("list", { name: "New runs" }).getByRole("link");
  await expect(made).toHaveCount(1);
  await expectAccessible(page);
  await made.click();
  await expect(page.getByRole("banner").or(page.locator("header")).getByText(`rerun of ${runs.squares}`).first()).toBeVisible();
});
