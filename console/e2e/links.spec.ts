import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { pythonEnvironment } from "./demo";
import { expect, place, test } from "./test";

test("the link that the command line prints opens the run", async ({ page, baseURL, home }) => {
  const { stdout, stderr } = await promisify(execFile)(
    join(pythonEnvironment, "bin/flyte"),
    ["--endpoint", `dns:///${new URL(baseURL ?? "").host}`, "--insecure", "run", "-p", "flytesnacks", "-d", "development", "shown.py", "square", "--x", "3"],
    { cwd: join(import.meta.dirname, "flows"), env: { ...process.env, HOME: home, FLYTE_DISABLE_SENTRY: "1", NO_COLOR: "1", TERM: "dumb", COLUMNS: "400" }, timeout: 120_000 },
  );
  const [link] = /https?:\/\/\S*\/v2\/\S*\/runs\/[a-z0-9]+/.exec(stdout + stderr) ?? [];
  expect(link, stdout + stderr).toBeDefined();
  await page.goto(link ?? "");
  await expect(page).toHaveURL(new RegExp(`${place}/runs/`));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("square");
  await expect(page.locator("header").getByText("Succeeded").first()).toBeVisible({ timeout: 120_000 });
});
