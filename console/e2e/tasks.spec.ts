import { actions, expect, expectAccessible, place, test } from "./test";

test("a task is found and launched from a form, in an older version too", async ({ page }) => {
  await page.goto(`${place}/tasks`);
  await page.getByRole("searchbox", { name: "Find a task" }).fill("squares");
  const rows = page.getByRole("table", { name: "Tasks" }).getByRole("row");
  await expect(rows).toHaveCount(2); // with the head
  await expect(rows.last()).toContainText("Sums the squares below n");
  await expectAccessible(page);
  await rows.last().getByRole("link", { name: "shown.squares", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("shown.squares");
  await page.getByRole("tab", { name: "Versions" }).click();
  const versions = page.getByRole("table", { name: "Versions" });
  await expect(versions.getByRole("row")).toHaveCount(3);
  await versions.getByRole("row", { name: /first/ }).getByRole("link", { name: /^Launch/ }).click();

  await expect(page.getByText("Version first")).toBeVisible();
  await page.getByLabel(/^n\b/).fill("2");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Launch", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/`));
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  await expect(page.locator("header").getByText(/from the console/).first()).toBeVisible();
});

test("a task says what it takes, where it runs and how it went", async ({ page }) => {
  await page.goto(`${place}/tasks/shown.squares`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("shown.squares");
  await expectAccessible(page);
  for (const [name, words] of [
    ["Interface", "words"],
    ["Environment", "shown"],
  ] as const) {
    await page.getByRole("tab", { name }).click();
    await expect(page.getByRole("tabpanel", { name })).toContainText(words);
    await expectAccessible(page);
  }
});

test("a task that nobody deployed says so", async ({ page, complaints }) => {
  await page.goto(`${place}/tasks/never.was`);
  await expect(page.getByText("No task of this name is deployed here").or(page.getByRole("alert")).first()).toBeVisible();
  complaints.length = 0; // the browser tells of the answer 404
});
