import { expect, expectAccessible, panel, place, test } from "./test";

const page = `${place}/triggers/triggered.read/on_figures`;

test("a trigger shows which version of an artifact it fired for, its run, and the version that it ignored", async ({ page: browser }) => {
  await browser.goto(`${place}/triggers?q=on_figures`);
  await browser.getByRole("table", { name: "Triggers" }).getByRole("link", { name: "on_figures" }).click();
  await expect(browser.getByRole("heading", { level: 1 })).toHaveText("on_figures");
  const slot = browser.getByRole("table", { name: "Runs" }).getByRole("row").nth(1);
  await expect(slot).toContainText("Started");
  await expect(browser.getByRole("list", { name: "Skipped versions" }).getByRole("listitem")).toContainText("region");
  await expectAccessible(browser);

  const run = slot.getByRole("cell").nth(1).getByRole("link");
  const name = (await run.textContent()) ?? "";
  await run.click();
  await expect(browser).toHaveURL(new RegExp(`${place}/runs/${name}`));
  await expect(panel(browser).getByRole("link", { name: "on_figures" })).toHaveAttribute("href", page);

  await browser.goto(page);
  await slot.getByRole("link", { name: /shown-figures/ }).click();
  await expect(browser).toHaveURL(new RegExp(`${place}/artifacts/shown-figures`));
  await expect(browser.getByRole("group", { name: /^Lineage/ })).toContainText(name);
});

test("a trigger is disabled and enabled again", async ({ page: browser }) => {
  await browser.goto(page);
  await browser.getByRole("button", { name: "Disable" }).click();
  await expect(browser.getByText("No upcoming runs")).toBeVisible();
  await browser.getByRole("button", { name: "Enable" }).click();
  await expect(browser.getByText("No upcoming runs")).toHaveCount(0);
});
