import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shell } from "./client";
import { expect, test } from "./test";

/** Pages of a project that has nothing, what their commands ask, and what is on the pages afterwards. */
const empty: readonly (readonly [path: string, title: string, result: string, answer?: string])[] = [
  ["runs", "No runs yet", "main"],
  ["tasks?view=deployed", "No tasks deployed yet", "hello.main"],
  ["triggers", "No triggers deployed yet", "at-three"],
  ["artifacts", "No artifacts yet", "hello"],
  ["secrets", "No secrets in my-project / staging", "my-key", "a value\n"],
  ["apps", "No apps yet", "hello-app"],
];

test("the commands of empty pages work as they stand", async ({ page, baseURL }) => {
  const folder = mkdtempSync(join(tmpdir(), "empty-"));
  const command = page.getByRole("main").getByTestId("command");
  try {
    await shell(folder, `flyte create config --endpoint ${new URL(baseURL ?? "").host} --insecure`);

    // The demo has a project.
    const projects = "**/flyteidl2.project.ProjectService/ListProjects*";
    await page.route(projects, (route) => route.fulfill({ json: {} }));
    await page.goto("/v2/");
    await expect(page.getByText("No projects yet")).toBeVisible();
    await shell(folder, (await command.textContent()) ?? "");
    await page.unroute(projects);
    await page.goto("/v2/?q=my-project");
    await expect(page.getByRole("heading", { name: "My project" })).toBeVisible();

    for (const [path, title, result, answer] of empty) {
      await page.goto(`/v2/domain/staging/project/my-project/${path}`);
      await expect(page.getByText(title)).toBeVisible();
      await shell(folder, (await command.textContent()) ?? "", answer);
      await page.reload();
      await expect(page.getByRole("row").filter({ hasText: result }).first()).toBeVisible();
      await expect(page.getByText(title)).toBeHidden();
    }
  } finally {
    // It would take capacity from the other tests.
    await shell(folder, "flyte delete app -p my-project -d staging hello-app").catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  }
});
