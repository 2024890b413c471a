import { expect, place, test } from "./test";

test("an action leads to its worker, and a pool shows what its workers did", async ({ page, runs }) => {
  await page.goto(`${place}/runs/${runs.reusing}?action=a0`);
  const worker = page.getByRole("link", { name: /^[a-z2-7]{26}$/ });
  const id = await worker.innerText();
  await worker.click();
  await expect(page).toHaveURL(/pools\?environment=reused/);
  const pool = page.getByTestId("pool-row");
  await expect(pool).toContainText("1 to 2 workers with 1 slot each");
  await expect(pool).toContainText(/\d of \d+ \(\d+ %\)/);
  // A worker without work ends after ten minutes, which other tests may take first.
  await expect(page.locator(`[data-testid="worker-row"][data-id="${id}"]`)).toContainText(/Ready|Terminated/);
});

test("a place without pools says where they come from", async ({ page }) => {
  await page.goto("/v2/domain/production/project/flytesnacks/pools");
  await expect(page.getByText("No worker pools")).toBeVisible();
});
