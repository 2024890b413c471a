import { readFile } from "node:fs/promises";
import { expect, expectAccessible, panel, place, test } from "./test";

test("an action's code opens at the task function", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?action=a0`);
  await panel(page).getByRole("tab", { name: "Code" }).click();
  await expect(page).toHaveURL(/[?&]tab=code/);
  const code = panel(page).getByTestId("code");
  await expect(code.locator(".cm-entry[data-line]")).toContainText("async def squares(");
  await expect(code.locator(".cm-entry").first()).toContainText("@env.task");
  await expect(code.locator(".cm-entry[data-line]")).toBeInViewport();
  await expect(panel(page).getByRole("heading", { name: "shown.py" })).toBeVisible();
  await expectAccessible(page);
});

test("other files can be opened, and the URL has the file", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?action=a0&tab=code`);
  const files = panel(page).getByRole("tree", { name: "Files" });
  await expect(files.getByRole("treeitem", { name: "shown.py" })).toHaveAttribute("aria-selected", "true");
  await files.getByRole("treeitem", { name: "start.py" }).click();
  await expect(panel(page).getByTestId("code")).toContainText("Starts runs through the SDK");
  await expect(page).toHaveURL(/[?&]file=start.py/);
  await page.reload();
  await expect(panel(page).getByTestId("code")).toContainText("Starts runs through the SDK");
  await files.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect(panel(page).getByTestId("code")).toContainText("async def squares(");
});

test("the code bundle can be downloaded", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?action=a0&tab=code`);
  const download = page.waitForEvent("download");
  await panel(page).getByRole("button", { name: "Download bundle" }).click();
  const bytes = await readFile(await (await download).path());
  expect([...bytes.subarray(0, 2)]).toEqual([0x1f, 0x8b]);
});

test("a file that is not in the bundle shows an error with a link back", async ({ page, runs, complaints }) => {
  await page.goto(`${place}/runs/${runs.squares}?action=a0&tab=code&file=../../etc/passwd`);
  await expect(panel(page).getByRole("alert")).toContainText("Not found");
  complaints.length = 0; // the browser tells of the answer, too
  await panel(page).getByRole("button", { name: "Show the task function" }).click();
  await expect(panel(page).getByTestId("code")).toContainText("async def squares(");
});
