import { hostname } from "node:os";
import { chromium } from "@playwright/test";
import { browser } from "./browser";
import { addressOf, routes } from "./pages";
import { expect, test } from "./test";

// The server is the same for every test, and has no access control. By the name of the machine it looks as if others could reach it.
test("where access is open and others may reach the server, every page says so", async ({ baseURL, runs }) => {
  expect(routes.length).toBeGreaterThan(25);
  const { executablePath, args } = browser();
  const elsewhere = await chromium.launch({ executablePath, args: [...args, `--host-resolver-rules=MAP ${hostname()} 127.0.0.1`] });
  try {
    const port = new URL(baseURL ?? "").port;
    const page = await elsewhere.newPage({ baseURL: `http://${hostname()}:${port}` });
    const banner = page.getByRole("note").filter({ hasText: "Access is open: everybody who reaches this address may do everything." });
    for (const route of [...routes, "/no/such/page"]) {
      await page.goto(addressOf(route, runs));
      await expect(banner, route).toBeVisible();
    }
  } finally {
    await elsewhere.close();
  }
});

test("no banner at a loopback address, which other machines cannot reach", async ({ page }) => {
  await page.goto("/v2/");
  await page.getByRole("button", { name: "Account" }).click();
  await expect(page.getByRole("dialog", { name: "Account" })).toContainText("Access is open");
  await expect(page.getByRole("note")).toHaveCount(0);
});
