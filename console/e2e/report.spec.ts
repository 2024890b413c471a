import { readFile } from "node:fs/promises";
import type { Frame, Page } from "@playwright/test";
import { expect, expectAccessible, panel, place, test } from "./test";

const shown = (page: Page) => panel(page).getByTestId("report").locator("iframe:not([data-behind])").contentFrame();

/** The frame in which a report is, to look at it from its inside. */
function frame(page: Page): Frame {
  const found = page.frames().find((one) => one.url().includes("report-frame"));
  if (!found) throw new Error("no report is shown");
  return found;
}

test("a report is shown in a sandboxed frame", { tag: "@store" }, async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.drawing}?action=a0&tab=report`);
  await expect(shown(page).getByRole("heading", { name: "A small report" })).toBeVisible();
  await expect(shown(page).locator("#verdict")).toHaveText("ran, no storage, no parent");
  await expect(panel(page).getByTestId("report").locator("iframe")).toHaveAttribute("sandbox", "allow-scripts allow-popups");
  await expectAccessible(page);
});

const nothing = (said: string | null) =>
  expect(Object.values(JSON.parse(said ?? "") as Record<string, string>)).toEqual(Array.from({ length: 10 }, () => "refused"));

test("a report cannot access the console", { tag: "@store" }, async ({ page, launch, baseURL, complaints }) => {
  const name = await launch({ task: "prying", inputs: { base: baseURL }, wait: true });
  await page.goto(`${place}/runs/${name}?action=a0&tab=report`);
  await expect(shown(page).locator("#verdict")).toHaveText(/refused/);
  nothing(await shown(page).locator("#verdict").textContent());
  await expect(page).toHaveURL(/tab=report/);
  complaints.length = 0; // the policy of the frame has said what it refused
});

// Links to an object store lead to an origin that is not the console's anyway.
test.describe("where the binary itself serves the store", () => {
  test("a report in its own tab cannot access the console", async ({ page, launch, baseURL, complaints }) => {
    const name = await launch({ task: "prying", inputs: { base: baseURL }, wait: true });
    await page.goto(`${place}/runs/${name}?action=a0&tab=report`);
    const opened = page.waitForEvent("popup");
    await panel(page).getByRole("link", { name: "Open in a new tab" }).click();
    const tab = await opened;
    await expect(tab.locator("#verdict")).toHaveText(/refused/);
    nothing(await tab.locator("#verdict").textContent());
    expect(await tab.evaluate(() => self.origin)).toBe("null");
    complaints.length = 0; // the policy of the frame has said what it refused
  });

  test("a link to a report is sandboxed for every client", async ({ page, request, runs }) => {
    await page.goto(`${place}/runs/${runs.drawing}?action=a0&tab=report`);
    const link = (await panel(page).getByRole("link", { name: "Open in a new tab" }).getAttribute("href")) ?? "";
    const headers = (await request.get(link)).headers();
    expect(headers["content-security-policy"]?.split(" ")).toEqual(["sandbox", "allow-scripts", "allow-popups"]);
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });
});

test("a report refreshes while it is written and keeps the scroll position", { tag: "@store" }, async ({ page, launch }) => {
  const name = await launch({ task: "growing" });
  await page.goto(`${place}/runs/${name}?action=a0&tab=report`);
  const heading = shown(page).getByRole("heading", { level: 1 });
  await expect(heading).toHaveText(/Step \d+/, { timeout: 120_000 });
  const first = await heading.textContent();
  await frame(page).evaluate(() => scrollTo(0, 1234));
  await expect(heading).not.toHaveText(first ?? "");
  await expect(async () => expect(await frame(page).evaluate(() => scrollY)).toBe(1234)).toPass();
  await shown(page).getByText("Second", { exact: true }).click();
  await expect(shown(page).getByText(/second tab at step/)).toBeVisible();
  const second = await shown(page)
    .getByText(/second tab at step/)
    .textContent();
  await expect(shown(page).getByText(/second tab at step/)).not.toHaveText(second ?? "");
  await expect(shown(page).getByText(/second tab at step/)).toBeVisible();
});

test("a report can be downloaded, and an action without one has no report tab", { tag: "@store" }, async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.drawing}?action=a0&tab=report`);
  const download = page.waitForEvent("download");
  await panel(page).getByRole("button", { name: "Download" }).click();
  expect(await readFile(await (await download).path(), "utf8")).toContain("A small report");
  await page.goto(`${place}/runs/${runs.squares}?action=a0&tab=report`);
  await expect(panel(page).getByRole("tab", { name: "Summary" })).toHaveAttribute("aria-selected", "true");
  await expect(panel(page).getByRole("tab", { name: "Report" })).toHaveCount(0);
});
