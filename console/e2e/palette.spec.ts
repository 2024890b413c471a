import type { Page } from "@playwright/test";
import { expect, expectAccessible, place, test } from "./test";

async function open(page: Page) {
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search or jump to" });
  await expect(palette.getByRole("combobox")).toBeFocused();
  return palette;
}

const navigation = (page: Page) => page.getByRole("navigation", { name: "Main" });

test("a run is found by name from any page", async ({ page, runs }) => {
  await page.goto("/v2/");
  await expect(page.getByRole("heading", { name: "Projects" })).toBeVisible();
  const palette = await open(page);
  await palette.getByRole("combobox").fill(runs.squares);
  await expect(palette.getByRole("option", { name: runs.squares })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`${place}/runs/${runs.squares}`));
});

test("a pasted URL is opened", async ({ page, runs }) => {
  await page.goto("/v2/");
  await expect(page.getByRole("heading", { name: "Projects" })).toBeVisible();
  const palette = await open(page);
  await palette.getByRole("combobox").fill(`http://other.example${place}/runs/${runs.failing}?tab=logs`);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`${place}/runs/${runs.failing}\\?tab=logs`));
});

test("the palette offers the actions of the page", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  await expect(page.getByRole("button", { name: /^Rerun/ })).toBeVisible();
  const palette = await open(page);
  await palette.getByRole("combobox").fill("rerun");
  await palette.getByRole("option", { name: /^Rerun this run/ }).click();
  await expect(page.getByRole("dialog", { name: `Rerun ${runs.squares}` })).toBeVisible();
});

test("the palette sets the theme and the time zone", async ({ page }) => {
  await page.goto(`${place}/runs`);
  await expect(navigation(page)).toBeVisible();
  for (const [typed, option] of [["dark", "Theme: dark"], ["tokyo", "Time zone: Asia/Tokyo"]] as const) {
    const palette = await open(page);
    await palette.getByRole("combobox").fill(typed);
    await palette.getByRole("option", { name: option }).click();
    await expect(palette).toBeHidden();
  }
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: "Theme, language and time zone" }).click();
  await expect(page.getByLabel("Time zone", { exact: true })).toHaveValue("Asia/Tokyo");
});

test("shortcuts navigate between pages and are listed", async ({ page }) => {
  await page.goto(`${place}/runs`);
  await expect(page.getByRole("combobox", { name: "Filter runs" })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await expect(page).toHaveURL(new RegExp(`${place}/tasks`));
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await expect(page.getByRole("heading", { name: "Projects" })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await expect(page.getByRole("combobox", { name: "Filter runs" })).toBeVisible();
  await page.keyboard.press("/");
  await expect(page.getByRole("combobox", { name: "Filter runs" })).toBeFocused();
  await page.keyboard.type("gt?"); // letters belong to who types
  await expect(page.getByRole("combobox", { name: "Filter runs" })).toHaveValue("gt?");
  await page.getByRole("heading", { name: "Runs" }).click();
  await page.keyboard.press("?");
  const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(list).toContainText("Search or jump to");
  await expect(list).toContainText("Next run");
  await expectAccessible(page);
});

test("the header switches to another project and domain", async ({ page }) => {
  await page.goto(`${place}/runs`);
  await page.getByRole("button", { name: /switch project or domain/ }).click();
  const list = page.getByRole("dialog", { name: "Projects and domains" });
  await expect(list.getByRole("option", { name: "staging" }).first()).toBeVisible();
  await expectAccessible(page);
  await list.getByRole("combobox").fill("flytesnacks");
  await list.getByRole("group", { name: "flytesnacks" }).getByRole("option", { name: "production" }).click();
  await expect(page).toHaveURL(/\/v2\/domain\/production\/project\/flytesnacks\/runs/);
});
