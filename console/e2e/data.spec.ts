import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { actions, expect, expectAccessible, panel, place, test } from "./test";

const file = (page: Page, name: string) => panel(page).locator(`[data-file="${name}"]`);

/** Opens the preview of a file in the directory that the task returned. */
async function preview(page: Page, name: string) {
  await file(page, name).getByRole("button", { name: `Preview ${name}` }).click();
  return file(page, name);
}

test("three clicks from the project to the rows of a table", async ({ page, runs, browserName }) => {
  const name = runs.previewing;
  await page.goto("/v2/");
  let clicks = 0;
  const click = async (target: ReturnType<Page["locator"]>) => {
    await target.click();
    clicks++;
  };
  await click(page.getByRole("list", { name: "Domains of flytesnacks" }).getByRole("link", { name: /^development/ }).first());
  await click(page.locator(`a[href*="${name}"]`).first());
  await click(actions(page).getByRole("treeitem", { name: /customers/ }).first());
  const table = panel(page).getByTestId("table-preview");
  await expect(table).toContainText("250 rows, 3 columns");
  await expect(table).toContainText("customer 99");
  await expect(table).toContainText("The first 100 rows of 250.");
  expect(clicks).toBeLessThanOrEqual(3);
  await expectAccessible(page);
  await table.getByRole("button", { name: "Columns" }).click();
  const score = table.getByRole("row", { name: /^score/ });
  await expect(score).toContainText("float64");
  await expect(score).toContainText("25");
  await expect(score).toContainText("62.25");
  await expectAccessible(page);

  await page.goto(`${place}/runs/${name}?tab=io`);
  const outputs = panel(page).getByTestId("outputs");
  await expect(outputs.locator("[data-value=o0]")).toContainText("Output 1");
  const image = outputs.locator("[data-value=o0] img");
  await expect.poll(() => image.evaluate((one: HTMLImageElement) => one.naturalWidth)).toBe(256);
  await expect(outputs.locator("[data-value=o2]")).toContainText("0.91");
  // Firefox saves what a page has made itself, but its driver reports no such download.
  if (browserName !== "firefox") {
    const figures = page.waitForEvent("download");
    await outputs.getByRole("button", { name: "Download o2" }).click();
    expect(JSON.parse(readFileSync(await (await figures).path(), "utf8"))).toEqual({ auc: 0.91, loss: 0.2 });
  }

  await outputs.getByText(/^11 files/).click();
  await expect((await preview(page, "table.csv")).getByTestId("table-preview")).toContainText("3 rows, 2 columns");
  await expect((await preview(page, "matrix.npy")).getByTestId("array-preview")).toContainText("3 × 4 float64");
  const arrays = (await preview(page, "weights.npz")).getByTestId("arrays-preview");
  await expect(arrays).toContainText("2 arrays");
  await expect(arrays.getByTestId("array-preview").first()).toContainText("2 × 3 int64");
  await arrays.getByText("bias").click();
  await expect(arrays.getByTestId("array-preview").nth(1)).toContainText("0.5");
  await expect((await preview(page, "config.json")).getByText("2 fields")).toBeVisible();
  await expect(await preview(page, "train.log")).toContainText("The first 256 KiB of");
  await expect((await preview(page, "study.ipynb")).getByTestId("notebook-preview")).toContainText("A notebook");
  await expect((await preview(page, "tone.wav")).locator("audio")).toHaveJSProperty("duration", 1);
  await expect(await preview(page, "weights.bin")).toContainText("A binary file of an unknown type cannot be shown");
  await expectAccessible(page);
});

test("no file runs in the console", async ({ page, runs, complaints }) => {
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${place}/runs/${runs.previewing}?tab=io`);
  await panel(page).getByText(/^11 files/).click();
  const notes = await preview(page, "notes.md");
  await expect(notes.getByRole("heading", { name: "Findings" })).toBeVisible();
  await expect(notes.locator("img, [href*='javascript:' i]")).toHaveCount(0);
  const drawing = await preview(page, "drawing.svg");
  await expect(drawing.locator("img")).toHaveJSProperty("naturalWidth", 40);
  // The page runs, as reports do, but of no origin.
  const framed = (await preview(page, "page.html")).frameLocator("iframe");
  await expect(framed.locator("#verdict")).toHaveText("null");
  expect(await page.evaluate(() => "owned" in window)).toBe(false);
});

test("the server reads no file for who may not see it, and none in whole", async ({ request, runs }) => {
  const actionId = { run: { project: "flytesnacks", domain: "development", name: runs.training }, name: "a0" };
  const read = (data: object) => request.post("/flytebinary.insight.v1.FileService/ReadFile", { data: { actionId, offset: "0", length: 4, ...data } });
  expect((await read({ uri: "/etc/passwd" })).status()).toBe(404);
  expect((await read({ uri: "/etc/passwd", length: 5 << 20 })).status()).toBe(400);
});
