import { readFileSync } from "node:fs";
import { expect, expectAccessible, panel, place, test } from "./test";

test("inputs and outputs are shown by type and as JSON", { tag: "@store" }, async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?tab=io`);
  const inputs = panel(page).getByTestId("inputs");
  await expect(inputs).toContainText("as they come");
  await expect(panel(page).getByTestId("outputs")).toContainText("14");
  await expectAccessible(page);
  await inputs.getByRole("button", { name: "JSON", exact: true }).click();
  await expect(inputs.locator("pre")).toContainText('"as they come"');
  await expectAccessible(page);
});

test("a file among the outputs is downloaded", { tag: "@store" }, async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.training}?tab=io`);
  const outputs = panel(page).getByTestId("outputs");
  await expect(outputs).toContainText("7 B");
  await expectAccessible(page);
  const download = page.waitForEvent("download");
  await outputs.getByRole("button", { name: "Download model.txt" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("model.txt");
  expect(readFileSync(await file.path(), "utf8")).toBe("weights");
});

test("files in a list and in a directory are downloaded", { tag: "@store" }, async ({ page, launch }) => {
  await page.goto(`${place}/runs/${await launch({ task: "packing", wait: true })}?tab=io`);
  const outputs = panel(page).getByTestId("outputs");
  await expect(outputs.getByRole("button", { name: "Download part-1.txt" })).toBeVisible();
  const directory = outputs.locator("[data-value=o1]");
  await directory.getByText("2 files, 12 B").click();
  const download = page.waitForEvent("download");
  await directory.getByRole("button", { name: "Download part-1.txt" }).click();
  expect(readFileSync(await (await download).path(), "utf8")).toBe("part 1");
  await expectAccessible(page);
});

test("values are copied as code", async ({ page, context, runs }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${place}/runs/${runs.squares}?tab=io`);
  await panel(page).getByTestId("inputs").getByRole("button", { name: "Copy as" }).click();
  await page.getByRole("menuitem", { name: "curl" }).click();
  await expect(page.getByText("Copied:").first()).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("GetActionData");
});

test("values are copied where the browser has no clipboard for pages: at plain http addresses", async ({ page, runs }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await page.goto(`${place}/runs/${runs.squares}?tab=io`);
  await panel(page).getByTestId("inputs").getByRole("button", { name: "Copy as" }).click();
  await page.getByRole("menuitem", { name: "curl" }).click();
  await expect(page.getByText("Copied:").first()).toBeVisible();
  await page.evaluate(() => {
    const field = document.createElement("textarea");
    field.id = "pasted";
    document.body.append(field);
    field.focus();
  });
  await page.keyboard.press("ControlOrMeta+v");
  await expect(page.locator("#pasted")).toHaveValue(/GetActionData/);
});

test("a long log can be searched, navigated and linked to", { tag: "@store" }, async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.talking}?tab=logs`);
  const log = panel(page).getByRole("log");
  await expect(log).toHaveAttribute("data-lines", /^3\d{3}$/, { timeout: 120_000 });
  await expect(log).toContainText("of the hay");
  await panel(page).getByRole("button", { name: "First error" }).click();
  await expect(log).toContainText("the needle is here");
  await panel(page).getByRole("searchbox", { name: "Search log" }).fill("1[0-9]{3} of the hay");
  await panel(page).getByRole("button", { name: "Regular expression" }).click();
  await expect(panel(page).getByTestId("log-found")).toContainText("999");
  await panel(page).getByRole("searchbox", { name: "Search log" }).fill("needle");
  await expect(panel(page).getByTestId("log-found")).toContainText("1");
  await page.keyboard.press("Enter");
  await expect(log.locator("mark")).toHaveText("needle");
  await expectAccessible(page);
  await log.locator("[data-mark]").getByRole("button", { name: /^Link to line/ }).click();
  await expect(page).toHaveURL(/[?&]line=\d+/);
  await page.reload();
  await expect(log.locator("[data-mark=linked]")).toContainText("the needle is here");
});

test("a log is downloaded verbatim", { tag: "@store" }, async ({ page, runs, browserName }) => {
  test.skip(browserName === "firefox", "Firefox saves what a page has made itself, but its driver reports no such download");
  await page.goto(`${place}/runs/${runs.talking}?tab=logs`);
  await expect(panel(page).getByRole("log")).toHaveAttribute("data-lines", /^3\d{3}$/, { timeout: 120_000 });
  const download = page.waitForEvent("download");
  await panel(page).getByRole("button", { name: "Download" }).click();
  expect((await download).suggestedFilename()).toContain(runs.talking);
});

test("the pod tab shows where the attempt ran", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?tab=pod`);
  await expect(panel(page).getByText(/kubectl describe pod/)).toBeVisible();
  await expect(panel(page).getByRole("table")).toContainText("CPU");
  await expectAccessible(page);
});

test("times are shown in the selected time zone", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}`);
  const time = panel(page).locator("time").first();
  await expect(time).toBeVisible();
  const told = async () => `${(await time.getAttribute("title")) ?? ""} ${await time.innerText()}`;
  const before = await told();
  await page.getByRole("button", { name: "Theme, language and time zone" }).click();
  await page.getByLabel("Time zone", { exact: true }).selectOption("Asia/Tokyo");
  await page.getByRole("button", { name: "Done" }).click();
  await expect(async () => expect(await told()).not.toBe(before)).toPass();
});

test("the resources tab shows what the attempt used, or why nothing was measured", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.squares}?tab=resources`);
  await expect(panel(page).getByTestId("resources")).toContainText(/One measurement|measurements over|No measurement of this attempt has arrived/);
  await expectAccessible(page);
});
