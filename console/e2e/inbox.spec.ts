import { actions, expect, expectAccessible, place, test } from "./test";

test("a paused condition is answered in the inbox", async ({ page, launch }) => {
  const prompt = "Shall the bread be cut?";
  const run = await launch({ task: "asking", inputs: { prompt } });
  await page.goto(`${place}/runs`);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Inbox/ }).click();
  const card = page.getByRole("article").filter({ hasText: prompt });
  await expect(card).toBeVisible({ timeout: 120_000 });
  await expect(card.getByRole("link", { name: run })).toBeVisible();
  await expectAccessible(page);
  await card.getByLabel("Comment").fill("Sharp knife, <b>thin</b> slices");
  await card.getByRole("button", { name: "Approve" }).click();
  await card.getByRole("button", { name: "Now" }).click();
  await expect(card).toBeHidden();
  await page.goto(`${place}/runs/${run}`);
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  // Who said what is in the panel of the run, and in that of the condition.
  const approvals = page.getByTestId("approvals");
  await expect(approvals.getByRole("row").filter({ hasText: "Sharp knife, <b>thin</b> slices" })).toBeVisible();
  await expectAccessible(page);
  await approvals.getByRole("row").filter({ hasText: "Sharp knife" }).getByRole("button").click();
  await expect(page.getByTestId("condition").getByText("Sharp knife, <b>thin</b> slices")).toBeVisible();
});
