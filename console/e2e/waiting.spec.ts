import type { Page } from "@playwright/test";
import { call } from "./link";
import { actions, expect, expectAccessible, panel, place, test } from "./test";

const row = (page: Page, run: string) => page.getByRole("row").filter({ hasText: run });
const named = (page: Page, run: string) => page.locator(`[data-name="${run}"]`);

test("a run that waits for a person says so in its row, its header and its root, and stops waiting when it is answered", async ({ page, launch }) => {
  const run = await launch({ task: "asking", inputs: { prompt: "Is the oven hot?" } });
  await page.goto(`${place}/runs`);
  await expect(row(page, run).getByTestId("waits-for")).toHaveText("Waiting for approval");
  await row(page, run).getByRole("link", { name: /asking/ }).click();
  await expect(page.locator("header").getByTestId("waits-for")).toHaveText("Waiting for approval");
  await page.goto(`${place}/runs/${run}?action=a0`);
  await expect(panel(page).getByTestId("waits-below")).toContainText("Waiting for approval");
  await expectAccessible(page);

  await page.getByRole("button", { name: "More pages" }).click();
  await page.getByRole("menuitem", { name: "Waiting", exact: true }).click();
  await expect(page).toHaveURL(/\/v2\/waiting$/);
  await expect(named(page, run)).toContainText("Answer the approval");
  await expect(named(page, run)).toContainText("everyone");
  await page.getByRole("button", { name: /^People/ }).click();
  await expect(page).toHaveURL(/kind=person/);
  await named(page, run).getByRole("link", { name: "Waiting for approval" }).click();
  await panel(page).getByRole("button", { name: "Approve" }).click();
  await panel(page).getByRole("button", { name: "Now" }).click();
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded");
  await expect(page.locator("header").getByTestId("waits-for")).toHaveCount(0);
  await page.goto("/v2/waiting");
  await expect(page.getByRole("heading", { level: 1, name: "Waiting" })).toBeVisible();
  await expect(named(page, run)).toHaveCount(0);
});

test("a run that waits for a full queue says which run is in front, until that has gone", async ({ page, launch, baseURL }) => {
  const abort = async (name: string) =>
    call(baseURL ?? "", "flyteidl2.workflow.RunService/AbortRun", { runId: { org: "flyte", project: "flytesnacks", domain: "development", name } });
  const front = await launch({ task: "long", queue: "bench" });
  const behind = await launch({ task: "long", inputs: { seconds: 1 }, queue: "bench" });
  try {
    const words = `Waiting for queue bench, behind ${front}`;
    await page.goto(`${place}/runs`);
    await expect(row(page, behind).getByTestId("waits-for")).toHaveText(words);
    await page.goto("/v2/waiting?kind=queue");
    await expect(named(page, behind)).toContainText(words);
    await expect(named(page, behind)).toContainText("1 of 1 in use");
    await expect(named(page, behind)).toContainText("Abort what is in front");
    await expect(named(page, front)).toHaveCount(0);
    await expectAccessible(page);
    await named(page, behind).getByRole("link", { name: words }).click();
    await expect(page.locator("header").getByTestId("waits-for")).toHaveText(words);
    await expect(panel(page).getByTestId("waiting")).toContainText("1 of 1 used");
    await page.goto("/v2/waiting?kind=queue");
    await named(page, behind).getByRole("link", { name: front, exact: true }).click();
    await expect(page).toHaveURL(new RegExp(`${place}/runs/${front}`));
  } finally {
    await abort(front);
  }
  await page.goto(`${place}/runs/${behind}`);
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded");
});
