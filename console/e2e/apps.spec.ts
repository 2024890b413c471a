import type { Locator, Page } from "@playwright/test";
import { serve } from "./serve";
import { preparedApp } from "./setup";
import { expect, expectAccessible, place, test } from "./test";

const tab = (page: Page, name: string) => page.getByRole("tab", { name }).click();
/** The state alongside the title. */
const state = (page: Page): Locator => page.getByRole("main").locator("[data-phase]").first();

test("an app is followed from its deployment to its deletion", async ({ page, request, baseURL, home }) => {
  const url = baseURL ?? "";
  const name = "followed";
  await page.goto(`${place}/apps?q=${name}`);
  await expect(page.getByText("No apps match")).toBeVisible();
  await serve(url, home, [{ name, env: { MODE: "fast" }, min: 1 }]);

  // The list shows it by itself.
  const row = page.getByTestId("app-row");
  await expect(row).toContainText("Active");
  await row.getByRole("link", { name, exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await expect(state(page)).toHaveAttribute("data-phase", "active");
  await expect(page.getByRole("table", { name: "Replicas" }).getByRole("row")).toHaveCount(2);
  await expect(page.getByRole("link", { name: /^Open/ })).toHaveAttribute("href", new RegExp(name));

  // Its requests are counted, and its log is followed.
  await tab(page, "Logs");
  const path = `/apps/flytesnacks/development/${name}/`;
  await expect(async () => expect((await request.get(`${path}?needle`)).status()).toBe(200)).toPass();
  await expect(page.getByRole("log")).toContainText("needle");
  await tab(page, "Overview");
  await expect(page.getByTestId("app-traffic")).toContainText(/[1-9]\d* requests? in the last half hour/);

  // Another environment is another revision.
  await serve(url, home, [{ name, env: { MODE: "slow" }, min: 1 }]);
  await tab(page, "Revisions");
  const revisions = page.getByTestId("app-revision");
  await expect(revisions).toHaveCount(2);
  await revisions.first().getByText(/^Changed: .*environment/).click();
  await expect(revisions.first().getByTestId("diff")).toContainText("slow");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Roll back to revision 1" }).click();
  const dialog = page.getByRole("dialog", { name: "Roll back to revision 1" });
  await dialog.getByLabel("Reason").fill("it was faster");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await expect(revisions).toHaveCount(3);
  await expect(revisions.first()).toContainText("restores revision 1");
  await expect(revisions.first()).toContainText("Serving");

  // It stops, and starts again.
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await expect(state(page)).toHaveAttribute("data-phase", "stopped");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect(state(page)).toHaveAttribute("data-phase", "active");
  await tab(page, "History");
  await expect(page.getByRole("table", { name: "History" })).toContainText("Stopped");

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/apps$`));
  await expect(page.getByRole("link", { name, exact: true })).toHaveCount(0);
});

test("an app that cannot start says why", async ({ page, baseURL, home }) => {
  const name = "refusing";
  await serve(baseURL ?? "", home, [{ name, command: ["python", "-c", "raise SystemExit('the model is missing')"], min: 1, wait: false }]);
  await page.goto(`${place}/apps/${name}`);
  await expect(state(page)).toHaveAttribute("data-phase", "failed");
  await expectAccessible(page);
  await tab(page, "Logs");
  await expect(page.getByRole("log")).toContainText("the model is missing");
});

test("an app is found in the palette, and keys lead to all apps", async ({ page }) => {
  await page.goto(`${place}/runs`);
  await expect(page.getByRole("combobox", { name: "Filter runs" })).toBeVisible();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search or jump to" });
  await palette.getByRole("combobox").fill("shown-a");
  await palette.getByRole("option", { name: /^shown-app/ }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/apps/shown-app`));
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await expect(page).toHaveURL(new RegExp(`${place}/apps$`));
});

test("a place without apps shows how to deploy one", async ({ page }) => {
  await page.goto("/v2/domain/production/project/flytesnacks/apps");
  await expect(page.getByText("No apps yet")).toBeVisible();
  await expectAccessible(page);
});

test("an app that does not exist shows an error", async ({ page, complaints }) => {
  await page.goto(`${place}/apps/never-was`);
  await expect(page.getByRole("alert").first()).toContainText("never-was");
  complaints.length = 0; // the browser tells of the answer 404
});

test("a run leads to the app that uses its output, and back", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.training}`);
  await tab(page, "Used by apps");
  const users = page.getByRole("list", { name: "Apps that use outputs of this run" });
  await expect(users).toContainText("input model, action a0");
  await users.getByRole("link", { name: preparedApp }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(preparedApp);
  await page.getByRole("link", { name: `run ${runs.training}, action a0` }).first().click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/${runs.training}`));
  // A run that no app uses does not speak of apps.
  await page.goto(`${place}/runs/${runs.squares}`);
  await expect(page.getByRole("tab", { name: "Graph" })).toBeVisible();
  await expect(page.getByRole("tab", { name: "Used by apps" })).toHaveCount(0);
});
