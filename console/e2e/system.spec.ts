import { expect, expectAccessible, test } from "./test";

test("the system page shows the health of all components", async ({ page }) => {
  await page.goto("/v2/");
  await page.getByRole("link", { name: "System" }).click();
  await expect(page).toHaveURL(/\/v2\/system/);
  await expect(page.getByRole("heading", { level: 1, name: "System" })).toBeVisible();
  const parts = page.getByTestId("components");
  for (const part of ["database", "storage", "kubernetes"]) await expect(parts.locator(`[data-component=${part}]`)).toContainText("Healthy");
  await expect(parts.locator("[data-component=database]")).toContainText(/ m?s/);
  await expect(page.getByTestId("queues").getByRole("row", { name: /default/ })).toBeVisible();
  await expect(page.getByTestId("repairs")).toBeVisible();
  await expect(page.getByTestId("metrics").getByRole("region", { name: "Watches" })).toContainText("Changes behind");
  await expectAccessible(page);
});

test("the system page refreshes its figures", async ({ page }) => {
  await page.goto("/v2/system");
  const calls = page.getByTestId("metrics").getByRole("region", { name: "Watches" }).locator("div", { hasText: "Calls answered" }).locator("dd");
  const before = await calls.textContent();
  await expect(calls).not.toHaveText(before ?? "");
});

test("the configuration can be searched and has no secrets", async ({ page }) => {
  await page.goto("/v2/system");
  const settings = page.getByTestId("settings");
  await settings.getByLabel("Search configuration").fill("database url");
  await expect(page).toHaveURL(/[?&]q=/);
  await expect(settings.getByRole("row")).toHaveCount(2);
  await expect(settings.getByRole("row").last()).toContainText("database.url");
  await expect(settings).not.toContainText(/:\/\/[^:/@]+:(?!x+@)[^@]+@/);
  await settings.getByLabel("Search configuration").fill("");
  await settings.getByRole("checkbox").check();
  await expect(settings.getByRole("row", { name: /server\.listen/ })).toContainText("changed");
  await page.reload();
  await expect(settings.getByRole("checkbox")).toBeChecked();
  await expectAccessible(page);
});

test("the system page shows that it is stale, and recovers", async ({ page, complaints }) => {
  await page.goto("/v2/system");
  await expect(page.getByTestId("components")).toBeVisible();
  await page.route("**/flytebinary.insight.v1.SystemService/GetSystem", (route) => route.abort("connectionrefused"));
  await expect(page.getByText("This is out of date")).toBeVisible();
  await expect(page.getByTestId("components")).toBeVisible();
  await page.unroute("**/flytebinary.insight.v1.SystemService/GetSystem");
  await expect(page.getByText("This is out of date")).toHaveCount(0);
  complaints.length = 0; // those of the browser about the calls that got no answer
});
