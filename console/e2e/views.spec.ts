import type { Page } from "@playwright/test";
import { actions, expect, expectAccessible, panel, place, test } from "./test";

const view = (page: Page, name: string | RegExp) => page.getByRole("tablist", { name: "Run views" }).getByRole("tab", { name });
const tool = (page: Page, name: string) => page.getByRole("toolbar", { name: "Timeline" }).getByRole("button", { name });

test("the timeline has labelled rows and keys to select and zoom", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  await view(page, "Timeline").click();
  await expect(page).toHaveURL(/view=timeline/);
  const rows = page.getByRole("listbox", { name: "Timeline of 5 actions" });
  await expect(rows.getByRole("option").first()).toContainText("squares");
  await expectAccessible(page);
  await rows.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(page).toHaveURL(/[?&]action=/);
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("square");
  await expect(tool(page, "Fit")).toBeDisabled();
  await page.keyboard.press("+");
  await expect(tool(page, "Fit")).toBeEnabled();
  await page.keyboard.press("0");
  await expect(tool(page, "Fit")).toBeDisabled();
});

test("the timeline explains why a run was slow", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?view=timeline`);
  const why = page.getByRole("region", { name: "Why slow" });
  await expect(why).toContainText("Critical path");
  await expectAccessible(page);
  await why.getByRole("button").last().click();
  await expect(page).toHaveURL(/[?&]action=/);
  await tool(page, "Why slow").click();
  await expect(why).toBeHidden();
});

test("failures are grouped by cause", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.failing}`);
  await view(page, /^Failures/).click();
  await expect(page.getByText("the oven is cold").first()).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("tabpanel").getByRole("button", { name: /refuse/ }).first().click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("refuse");
});

test("actions are filtered by text and by phase", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.failing}`);
  const find = page.getByRole("searchbox", { name: "Find actions by task, name, group or input" });
  await find.fill("refuse");
  await expect(page.getByRole("status").filter({ hasText: "1 match" })).toBeVisible();
  await expect(page).toHaveURL(/q=refuse/);
  await find.fill("");
  await page.getByRole("group", { name: "Filter by phase" }).getByRole("button", { name: "2 succeeded" }).click();
  await expect(page.getByRole("status").filter({ hasText: "2 matches" })).toBeVisible();
  await expectAccessible(page);
  await page.reload();
  await expect(page.getByRole("status").filter({ hasText: "2 matches" })).toBeVisible();
});

test("the tree expands and collapses", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  const lines = actions(page).getByRole("treeitem");
  await expect(lines).toHaveCount(6); // the run's own task, a group, and four in it
  await page.getByRole("button", { name: "Collapse all" }).click();
  await expect(lines).toHaveCount(2);
  await expect(lines.last()).toHaveAttribute("aria-expanded", "false");
  await page.getByRole("button", { name: "Expand all" }).click();
  await expect(lines).toHaveCount(6);
});

test("a failed run links to its first failure", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.failing}`);
  await page.getByRole("button", { name: "Go to first failure" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("refuse");
});

test("the code tab opens at the task function", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?tab=code`);
  await expect(panel(page).getByText("async def squares").first()).toBeVisible();
  await expectAccessible(page);
});

test("the graph is navigated by keyboard and selects actions", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.failing}`);
  await view(page, "Graph").click();
  await expect(page).toHaveURL(/view=graph/);
  const graph = page.getByRole("tree", { name: "Graph of 4 actions" });
  await expect(graph.getByRole("treeitem", { name: /refuse/ })).toBeVisible();
  await expectAccessible(page);
  await graph.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/[?&]action=/);
  await expect(panel(page)).toBeVisible();
});
