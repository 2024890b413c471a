import { client } from "./client";
import { expect, place, test } from "./test";

test("the link printed by the command line opens the run", async ({ page, baseURL, home }) => {
  const { stdout, stderr } = await client(home, "flyte", [
    "--endpoint",
    `dns:///${new URL(baseURL ?? "").host}`,
    "--insecure",
    "run",
    "-p",
    "flytesnacks",
    "-d",
    "development",
    "shown.py",
    "square",
    "--x",
    "3",
  ]);
  const [link] = /https?:\/\/\S*\/v2\/\S*\/runs\/[a-z0-9]+/.exec(stdout + stderr) ?? [];
  expect(link, stdout + stderr).toBeDefined();
  await page.goto(link ?? "");
  await expect(page).toHaveURL(new RegExp(`${place}/runs/`));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("square");
  await expect(page.locator("header").getByText("Succeeded").first()).toBeVisible({ timeout: 120_000 });
});
