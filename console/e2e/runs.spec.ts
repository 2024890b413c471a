import type { Page } from "@playwright/test";
import { expect, expectAccessible, place, test } from "./test";

const row = (page: Page, run: string) => page.getByRole("row").filter({ hasText: run });
const filter = (page: Page) => page.getByRole("combobox", { name: "Filter runs" });

test("runs are listed with their phase and link to their page", async ({ page, runs }) => {
  await page.goto(`${place}/runs`);
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  // The oldest are first, because a list holds only the rows near the window, and other tests have started many runs since.
  await page.goto(`${place}/runs?sort=oldest`);
  await expect(row(page, runs.squares)).toContainText("Succeeded");
  await expect(row(page, runs.squares)).toContainText("team=kitchen");
  await expect(row(page, runs.failing)).toContainText("Failed");
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
  await page.goto(`${place}/runs?sort=oldest`);
  await expect(row(page, runs.squares)).toBeVisible();
  await filter(page).fill("phase:failed task:failing");
  await filter(page).press("Enter");
  await expect(row(page, runs.failing)).toBeVisible();
  await expect(row(page, runs.squares)).toBeHidden();
  await expect(page).toHaveURL(/query=phase%3Afailed/);
  await page.reload();
  await expect(row(page, runs.failing)).toBeVisible();
  await expect(row(page, runs.squares)).toBeHidden();
  await expect(filter(page)).toHaveValue("phase:failed task:failing");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(row(page, runs.squares)).toBeVisible();
  await expect(filter(page)).toHaveValue("");

  await filter(page).fill("label:team=kitchen");
  await filter(page).press("Enter");
  await expect(row(page, runs.squares)).toBeVisible();
  await expect(row(page, runs.failing)).toBeHidden();

  await filter(page).fill("phse:failed");
  await filter(page).press("Enter");
  await expect(page.getByRole("alert")).toContainText('At 1, phse:failed: There is no key "phse".');
  await expectAccessible(page);
  await page.getByRole("alert").getByRole("button", { name: "phase" }).click();
  await expect(filter(page)).toHaveValue("phase:failed");
});

test("keys and values are suggested, runs are counted while typing, and menus change the text", async ({ page, runs }) => {
  await page.goto(`${place}/runs?sort=oldest`);
  await expect(row(page, runs.squares)).toBeVisible();
  await filter(page).pressSequentially("lab");
  await page.getByRole("option", { name: /^label:/ }).click();
  await filter(page).pressSequentially("kitch");
  await expect(page.getByRole("option", { name: "label:team=kitchen" })).toBeVisible();
  await expectAccessible(page);
  await filter(page).press("ArrowDown");
  await filter(page).press("Enter");
  await expect(filter(page)).toHaveValue("label:team=kitchen ");
  await expect(page.getByTestId("query-count")).toContainText(/\d+ runs?/);
  await filter(page).press("Enter");
  await expect(row(page, runs.failing)).toBeHidden();
  await page.getByRole("button", { name: "Phase" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Succeeded" }).click();
  await page.keyboard.press("Escape");
  await expect(filter(page)).toHaveValue("label:team=kitchen phase:succeeded");
  await expect(row(page, runs.squares)).toBeVisible();
  await filter(page).fill("(task:squares or task:failing) -phase:failed");
  await filter(page).press("Enter");
  await expect(row(page, runs.squares)).toBeVisible();
  await expect(row(page, runs.failing)).toBeHidden();
});

test("an address from before there were queries has the same runs", async ({ page, runs }) => {
  await page.goto(`${place}/runs?phases=failed&task=failing`);
  await expect(row(page, runs.failing)).toBeVisible();
  await expect(row(page, runs.squares)).toBeHidden();
  await expect(filter(page)).toHaveValue("phase:failed task:failing");
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
  await expect(page).toHaveURL(/query=is%3Apaused/);
});

test("views of the browser are moved to the server", async ({ page }) => {
  await page.goto(`${place}/runs`);
  await page.evaluate(() => localStorage.setItem("flyte-console:runs-views", JSON.stringify([{ name: "Moved", search: { phases: "failed", labels: ["team=kitchen"] } }])));
  await page.reload();
  await expect.poll(() => page.evaluate(() => localStorage.getItem("flyte-console:runs-views"))).toBeNull();
  await page.reload();
  await page.getByRole("button", { name: /^Views/ }).click();
  await page.getByRole("menuitem", { name: "Moved" }).click();
  await expect(filter(page)).toHaveValue("phase:failed label:team=kitchen");
});

test("a view is saved under a name, pinned and shared", async ({ page, runs }) => {
  await page.goto(`${place}/runs?labels=${encodeURIComponent('["team=kitchen"]')}`);
  await expect(row(page, runs.squares)).toBeVisible();
  await page.getByRole("button", { name: /^Views/ }).click();
  await page.getByRole("menuitem", { name: /^Save this view/ }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("The kitchen");
  await page.getByRole("dialog").getByLabel("Pin to the navigation").check();
  await expectAccessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.goto(`${place}/runs`);
  await page.getByRole("button", { name: /^Views/ }).click();
  await expectAccessible(page);
  await page.getByRole("menuitem", { name: "The kitchen" }).click();
  await expect(page).toHaveURL(/team/);
  await expect(row(page, runs.failing)).toBeHidden();
  const pinned = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "The kitchen" });
  await expect(pinned).toBeVisible();
  await page.getByRole("button", { name: /^Views/ }).click();
  await page.getByRole("menuitem", { name: /^Share “The kitchen”/ }).click();
  await expect(page.getByText(/^Everyone in .* has “The kitchen”/)).toBeVisible();
  await page.goto(`${place}/runs`);
  await pinned.first().click();
  await expect(row(page, runs.failing)).toBeHidden();
});

test("columns can be selected and are remembered", async ({ page, runs }) => {
  await page.goto(`${place}/runs?sort=oldest`);
  await expect(row(page, runs.squares)).toBeVisible();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Environment" }).click();
  await page.keyboard.press("Escape");
  await page.reload();
  await expect(page.getByRole("columnheader", { name: "Environment" })).toBeVisible();
});

test("runs are sorted by column headers", async ({ page, runs }) => {
  await page.goto(`${place}/runs?query=label%3Ateam%3Dkitchen`);
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
