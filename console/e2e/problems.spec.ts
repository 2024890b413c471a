import { expect, expectAccessible, panel, place, test } from "./test";
import type { Locator } from "@playwright/test";

/** Clicks, and counts it. */
function counter() {
  let clicks = 0;
  return {
    click: async (target: Locator) => {
      clicks++;
      await target.click();
    },
    clicks: () => clicks,
  };
}

test("why a run failed is two clicks from the list of projects, and so is whether its error is new", async ({ page, runs }) => {
  const { click, clicks } = counter();
  await page.goto("/v2/");
  await click(page.getByRole("list", { name: "Domains of flytesnacks" }).getByRole("link", { name: /development/i }));
  const row = page.locator(`[data-testid="run-row"][data-name="${runs.failing}"]`);
  await expect(row.getByTestId("run-error")).toHaveText("ValueError: the oven is cold");
  await click(row.getByRole("link").first());

  const failure = panel(page).getByTestId("failure");
  await expect(failure.getByTestId("caused-by")).toContainText("Caused by refuse");
  await expect(failure.getByTestId("traceback").locator('[aria-current="true"]')).toContainText("raise ValueError(message)");
  await expect(failure.getByTestId("failing-inputs")).toContainText("the oven is cold");
  await expect(failure.getByTestId("seen")).toContainText(/New: not seen before|First seen .* in \d+ runs?/);
  expect(clicks()).toBe(2);
  await expectAccessible(page);

  await failure.getByTestId("caused-by").getByRole("button", { name: "refuse" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("refuse");
  await expect(panel(page).getByTestId("caused-by")).toHaveCount(0);
});

test("failures of several runs are one problem, which has its traceback and its runs", async ({ page, runs, launch }) => {
  const again = await launch({ task: "failing", inputs: { message: "the oven is off" }, wait: true });
  await page.goto(`${place}/runs/${again}`);
  const seen = panel(page).getByTestId("seen");
  await expect(seen).toContainText(/First seen .* · \d+ times in \d+ runs/);
  await seen.getByRole("link", { name: /times in/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("ValueError");
  await expect(page.getByTestId("traceback")).toContainText("shown.py");
  for (const run of [again, runs.failing]) await expect(page.locator(`[data-testid="failure-row"][data-run="${run}"]`)).toHaveCount(1);
  await expectAccessible(page);

  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Problems" }).click();
  const row = page.locator('[data-testid="problem-row"][data-code="ValueError"]').filter({ hasText: "shown.py:refuse" });
  await expect(row).toHaveCount(1);
  await expect(row).toContainText("shown.refuse");
  await page.getByLabel("Task").fill("shown.none");
  await expect(page.getByText("No problems match these filters")).toBeVisible();
  await page.getByLabel("Task").fill("shown.refuse");
  await expect(row).toHaveCount(1);
  await expect(page).toHaveURL(/task=shown\.refuse/);
  await expectAccessible(page);
});

test("the failures of a run do not count the parent", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.failing}?view=errors`);
  await expect(page.getByText("1 failed action, 1 distinct error")).toBeVisible();
  await expect(page.getByText("1 parent failed because of them")).toBeVisible();
});

test("a problem that does not exist leads to those that do", async ({ page, complaints }) => {
  await page.goto(`${place}/problems/999999`);
  await expect(page.getByRole("alert").first()).toContainText("no problem 999999");
  complaints.length = 0; // the browser tells of the answer 404
  await page.getByRole("link", { name: "All problems" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Problems" })).toBeVisible();
});
