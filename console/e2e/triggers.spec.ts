import { expect, expectAccessible, panel, place, test } from "./test";

const page = `${place}/triggers/triggered.read/on_figures`;

test("a trigger shows which version of an artifact it fired for, its run, and the version that it ignored", async ({ page: browser }) => {
  await browser.goto(`${place}/triggers?q=on_figures`);
  await browser.getByRole("table", { name: "Triggers" }).getByRole("link", { name: "on_figures" }).click();
  await expect(browser.getByRole("heading", { level: 1 })).toHaveText("on_figures");
  const slot = browser.getByRole("table", { name: "Slots" }).getByRole("row").nth(1);
  await expect(slot).toContainText("Started");
  await expect(browser.getByRole("list", { name: "Versions that did not fire" }).getByRole("listitem")).toContainText("region");
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

test("a trigger is turned off and on again", async ({ page: browser }) => {
  await browser.goto(page);
  await browser.getByRole("button", { name: "Switch off" }).click();
  await expect(browser.getByText("It does not fire")).toBeVisible();
  await browser.getByRole("button", { name: "Switch on" }).click();
  await expect(browser.getByText("It does not fire")).toHaveCount(0);
});
