import { actions, expect, expectAccessible, panel, place, test } from "./test";

test("a terminal run shows its actions and the details of the selected one", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("squares");
  await expect(page.getByRole("banner").or(page.locator("header")).getByText("Succeeded").first()).toBeVisible();
  await expect(actions(page).getByRole("treeitem")).toHaveCount(6); // with the group
  await expect(panel(page).getByText("Phases")).toBeVisible();
  await expectAccessible(page);
});

test("the keyboard selects actions, and the URL follows", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  await expect(actions(page).getByRole("treeitem")).toHaveCount(6);
  await actions(page).focus();
  await page.keyboard.press("End");
  await expect(actions(page).getByRole("treeitem").last()).toHaveAttribute("aria-selected", "true");
  await expect(page).toHaveURL(/[?&]action=/);
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("square");
  const address = page.url();
  await page.keyboard.press("Home");
  await expect(actions(page).getByRole("treeitem").first()).toHaveAttribute("aria-selected", "true");
  await page.goto(address);
  await expect(actions(page).getByRole("treeitem").last()).toHaveAttribute("aria-selected", "true");
});

test("a live run is updated from start to success", async ({ page, launch }) => {
  const name = await launch({ task: "squares", inputs: { n: 3 } });
  await page.goto(`${place}/runs/${name}`);
  const root = actions(page).getByRole("treeitem").first();
  await expect(root.locator("[data-phase]")).toHaveAttribute("data-phase", /queued|waiting|initializing|running|succeeded/);
  await expect(actions(page).getByRole("treeitem")).toHaveCount(5, { timeout: 120_000 });
  await expect(root.locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  await expect(page.getByRole("button", { name: /^Abort/ })).toHaveCount(0);
});

test("a failed run shows its error first", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.failing}`);
  const failure = panel(page).getByTestId("failure");
  await expect(failure).toContainText("the oven is cold");
  await expect(failure).toContainText("Suggested fix");
  await expect(failure.getByTestId("traceback")).toContainText("shown.py", { timeout: 60_000 });
  await expectAccessible(page);
  await expect(actions(page).getByRole("treeitem").locator('[data-phase="failed"]')).toHaveCount(2);
  await actions(page).getByRole("treeitem").filter({ hasText: "refuse" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("refuse");
  await expect(failure).toContainText("ValueError");
  await expect(failure).toContainText("the oven is cold");
  // The failing line, with the code around it.
  await expect(failure.getByTestId("traceback").locator('[aria-current="true"]')).toContainText("raise ValueError(message)", { timeout: 60_000 });
  await failure.getByRole("button", { name: "Show in log" }).click();
  await expect(page).toHaveURL(/line=\d+/);
});

test("a long panel scrolls by itself, not the window", async ({ page, runs }) => {
  await page.setViewportSize({ width: 1280, height: 500 });
  await page.goto(`${place}/runs/${runs.failing}`);
  await expect(panel(page).getByTestId("failure")).toContainText("the oven is cold");
  await expect(panel(page).getByText("Phases")).toBeAttached();
  expect(await page.evaluate(() => document.documentElement.scrollHeight - document.documentElement.clientHeight)).toBe(0);
});

test("a run that does not exist shows an error", async ({ page }) => {
  await page.goto(`${place}/runs/never-was`);
  await expect(page.getByRole("alert").first()).toContainText("does not exist");
});

test("a run is aborted with a reason, and the reason is shown", async ({ page, launch }) => {
  const name = await launch({ task: "long" });
  await page.goto(`${place}/runs/${name}`);
  await page.getByRole("button", { name: /^Abort/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("we have seen enough");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Abort" }).click();
  await expect(dialog).toBeHidden();
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "aborted", { timeout: 120_000 });
  await expect(panel(page).getByText("we have seen enough")).toBeVisible();
});

test("a paused condition is answered and the run continues", async ({ page, launch }) => {
  const name = await launch({ task: "asking", inputs: { prompt: "Shall the oven be lit?" } });
  await page.goto(`${place}/runs/${name}`);
  const condition = actions(page).getByRole("treeitem").filter({ hasText: "go-on" });
  await expect(condition.locator("[data-phase]")).toHaveAttribute("data-phase", "paused", { timeout: 120_000 });
  await condition.click();
  await expect(panel(page).getByText("Shall the oven be lit?")).toBeVisible();
  await expectAccessible(page);
  await panel(page).getByRole("button", { name: "Approve" }).click();
  await panel(page).getByRole("button", { name: "Now" }).click();
  await expect(condition.locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  const root = actions(page).getByRole("treeitem").first();
  await expect(root.locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  await root.click();
  await panel(page).getByRole("tab", { name: "Inputs and outputs" }).click();
  await expect(panel(page).getByTestId("outputs")).toContainText("yes");
});
