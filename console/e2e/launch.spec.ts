import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { pythonEnvironment } from "./demo";
import { actions, expect, expectAccessible, panel, place, test } from "./test";

test("a rerun with a changed input shows a diff before it starts", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  await page.getByRole("button", { name: /^Rerun/ }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("No changes: same inputs and options");
  await dialog.getByLabel(/^n\b/).fill("3");
  await expect(dialog.getByRole("region", { name: /^Changes from/ }).getByLabel("Inputs, 1 changed")).toBeVisible();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Launch" }).click();
  await expect(dialog).toBeHidden();
  await expect(page).not.toHaveURL(new RegExp(runs.squares));
  await expect(page.locator("header").getByText(`rerun of ${runs.squares}`).first()).toBeVisible();
  await expect(actions(page).getByRole("treeitem")).toHaveCount(5, { timeout: 120_000 });
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
});

test("invalid inputs show an error at their field", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  await page.getByRole("button", { name: /^Rerun/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^n\b/).fill("three");
  await dialog.getByRole("button", { name: "Launch" }).click();
  await expect(dialog.getByRole("alert").first()).toBeVisible();
  await expect(dialog.getByLabel(/^n\b/)).toHaveAttribute("aria-invalid", "true");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
});

test("a failed run is recovered after a preview", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.failing}`);
  await page.getByRole("button", { name: /^Recover/ }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("status")).toContainText("2 actions reused");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Recover" }).click();
  await expect(page.locator("header").getByText(`recovery of ${runs.failing}`).first()).toBeVisible();
  await expect(panel(page).getByTestId("failure")).toContainText("the oven is cold", { timeout: 120_000 });
});

test("a file is uploaded with a launch, along with inputs of other types", { tag: "@store" }, async ({ page }) => {
  await page.goto(`${place}/tasks/shown.measure`);
  await page
    .getByRole("link", { name: /^Launch/ })
    .first()
    .click();
  await page.getByLabel("File to upload").setInputFiles({ name: "poem.txt", mimeType: "text/plain", buffer: Buffer.from("one\ntwo\nthree\n") });
  await expect(page.getByText("poem.txt uploaded.")).toBeVisible();
  await page.getByLabel(/^unit\b/).selectOption({ label: "LINES" });
  await page.getByLabel(/^exact\b/).selectOption("false");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Launch", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/`));
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  await panel(page).getByRole("tab", { name: "Inputs and outputs" }).click();
  await expect(panel(page).getByTestId("outputs")).toContainText("3 lines, no tags, about");
});

test("a table is uploaded as a data frame", { tag: "@store" }, async ({ page }, info) => {
  const file = info.outputPath("numbers.parquet");
  await promisify(execFile)(join(pythonEnvironment, "bin/python"), [
    "-c",
    "import sys, pandas; pandas.DataFrame({'n': range(1000)}).to_parquet(sys.argv[1])",
    file,
  ]);
  await page.goto(`${place}/launch?task=shown.total`);
  await page.getByLabel("File to upload").setInputFiles(file);
  await expect(page.getByText("numbers.parquet uploaded.")).toBeVisible();
  await page.getByRole("button", { name: "Launch", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/`));
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  await panel(page).getByRole("tab", { name: "Inputs and outputs" }).click();
  await expect(panel(page).getByTestId("outputs")).toContainText("499,500");
});

test("a succeeded run is rerun from an action", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  await actions(page)
    .getByRole("treeitem", { name: /square/ })
    .last()
    .click();
  await panel(page).getByRole("button", { name: "Action menu" }).click();
  await page.getByRole("menuitem", { name: "Rerun from here …" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText(/3 actions\s+reused/)).toBeVisible();
  await dialog.getByRole("button", { name: "Recover" }).click();
  await expect(page).not.toHaveURL(new RegExp(runs.squares));
  await expect(page.locator("header").getByText("recovery of").first()).toBeVisible();
  await expect(actions(page).locator('[data-phase="recovered"]')).toHaveCount(3, { timeout: 120_000 });
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
});
