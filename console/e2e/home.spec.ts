import { expect, expectAccessible, place, test } from "./test";

test("projects link to the runs of their domains, and the last domain is remembered", async ({ page }) => {
  await page.goto("/v2/");
  await expect(page.getByRole("heading", { name: "Projects" })).toBeVisible();
  const domains = page.getByRole("list", { name: "Domains of flytesnacks" });
  await expect(domains.getByRole("link", { name: /development|staging|production/i })).toHaveCount(3);
  await expectAccessible(page);
  await domains.getByRole("link", { name: /development/i }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs`));
  await page.goto("/v2/");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Runs" }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs`));
});

test("a project is created, searched, edited, archived and restored", async ({ page }) => {
  const id = `bakery-${Date.now().toString(36)}`;
  await page.goto("/v2/");
  await page.getByRole("button", { name: "Create project" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("The bakery");
  await dialog.getByLabel("ID").fill(id);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole("searchbox", { name: "Find projects" }).fill(id);
  const card = page.locator(`[data-project="${id}"]`);
  await expect(card.getByRole("heading")).toHaveText("The bakery");

  await card.getByRole("button", { name: `Actions for ${id}` }).click();
  await page.getByRole("menuitem", { name: /^Edit/ }).click();
  await dialog.getByLabel("Description").fill("bread and rolls");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(card).toContainText("bread and rolls");

  await card.getByRole("button", { name: `Actions for ${id}` }).click();
  await page.getByRole("menuitem", { name: /^Archive/ }).click();
  await dialog.getByRole("button", { name: "Archive" }).click();
  await expect(card).toBeHidden();
  await page.getByLabel("Include archived").check();
  await expect(card).toContainText("archived");
  await card.getByRole("button", { name: `Actions for ${id}` }).click();
  await page.getByRole("menuitem", { name: "Restore" }).click();
  await expect(card.getByText("archived", { exact: true })).toBeHidden();
});

test("an empty run list explains how to start a run", async ({ page }) => {
  await page.goto("/v2/domain/production/project/flytesnacks/runs");
  await expect(page.getByText("No runs yet")).toBeVisible();
  await expect(page.getByText("flyte run -p flytesnacks -d production")).toBeVisible();
  await expectAccessible(page);
});

test("home says what failed and what waits, in all projects", async ({ page, launch }) => {
  const prompt = `Home asks ${Date.now().toString(36)}`;
  const [failed, asks] = await Promise.all([launch({ task: "failing", wait: true }), launch({ task: "asking", inputs: { prompt } })]);
  await page.goto("/v2/");
  const attention = page.getByRole("region", { name: "Needs attention" });
  const failures = attention.getByRole("region", { name: "Failed", exact: true });
  await expect(failures.getByText(failed)).toBeVisible({ timeout: 120_000 });
  const waiting = attention.getByRole("region", { name: "Waiting for a person" });
  await expect(waiting).toBeVisible({ timeout: 120_000 });
  await expectAccessible(page);

  await failures.getByRole("listitem").filter({ hasText: failed }).getByRole("link").click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/${failed}`));
  await page.goBack();
  await failures.getByRole("button", { name: "Mark as seen" }).click();
  await expect(failures.getByText(failed)).toBeHidden();
  await page.reload();
  await expect(waiting).toBeVisible({ timeout: 120_000 });
  await expect(failures.getByText(failed)).toBeHidden();

  await waiting.getByRole("link", { name: "Inbox" }).click();
  const card = page.getByRole("article").filter({ hasText: prompt });
  await expect(card.getByRole("link", { name: asks })).toBeVisible({ timeout: 120_000 });
  await card.getByRole("button", { name: "Approve" }).click();
  await card.getByRole("button", { name: "Now" }).click();
  await expect(card).toBeHidden();
});
