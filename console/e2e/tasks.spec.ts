import { actions, expect, expectAccessible, panel, place, test } from "./test";

test("a task is searched and launched from a form, older versions too", async ({ page }) => {
  await page.goto(`${place}/tasks?view=deployed`);
  await page.getByRole("searchbox", { name: "Find tasks" }).fill("squares");
  const rows = page.getByRole("table", { name: "Deployed tasks" }).getByRole("row");
  await expect(rows).toHaveCount(2); // with the head
  await expect(rows.last()).toContainText("Sums the squares below n");
  await expectAccessible(page);
  await rows.last().getByRole("link", { name: "shown.squares", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("shown.squares");
  await page.getByRole("tab", { name: "Versions" }).click();
  const versions = page.getByRole("table", { name: "Versions" });
  await expect(versions.getByRole("row")).toHaveCount(3);
  await versions
    .getByRole("row", { name: /first/ })
    .getByRole("link", { name: /^Launch/ })
    .click();

  await expect(page.getByText("Version first")).toBeVisible();
  await page.getByLabel(/^n\b/).fill("2");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Launch", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/`));
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  await expect(
    page
      .locator("header")
      .getByText(/via console/)
      .first(),
  ).toBeVisible();
});

test("a launch keeps its name, queue, limit, labels and environment", async ({ page, complaints }) => {
  const name = `ovens${Date.now().toString(36)}`;
  await page.goto(`${place}/launch?task=shown.squares`);
  await page.getByText("name, labels, environment, queue").click();
  await page.getByLabel("Run name").fill(name);
  await page.getByLabel("Queue", { exact: true }).selectOption({ label: "ovens: 0 active, 0 waiting" });
  await page.getByLabel("Max parallel actions").fill("1");
  for (const [group, key, value] of [
    ["Labels", "batch", "seven"],
    ["Environment variables", "KITCHEN", "south"],
  ] as const) {
    await page.getByRole("group", { name: group }).getByRole("button", { name: "Add" }).click();
    await page.getByLabel(`${group}: name 1`).fill(key);
    await page.getByLabel(`${group}: value 1`).fill(value);
  }
  await page.getByRole("button", { name: "Launch", exact: true }).click();
  await expect(page.getByLabel("Max parallel actions")).toBeFocused(); // a parent would wait for its children forever
  await page.getByLabel("Max parallel actions").fill("2");
  await page.getByRole("button", { name: "Launch", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`${place}/runs/${name}`));
  for (const words of ["queue ovens", "batch: seven"]) await expect(page.locator("header").getByText(words).first()).toBeVisible();
  await expect(actions(page).getByRole("treeitem").first().locator("[data-phase]")).toHaveAttribute("data-phase", "succeeded", { timeout: 120_000 });
  await panel(page).getByRole("tab", { name: "Pod" }).click();
  await expect(panel(page)).toContainText("KITCHEN");

  // Its name is taken now.
  await page.goto(`${place}/launch?task=shown.squares`);
  await page.getByText("name, labels, environment, queue").click();
  await page.getByLabel("Run name").fill(name);
  await page.getByRole("button", { name: "Launch", exact: true }).click();
  await expect(page.getByRole("alert").first()).toContainText(name);
  complaints.length = 0; // the browser tells of the answer 409
  await page.goto("/v2/system");
  await expect(page.getByTestId("queues").getByRole("row", { name: /ovens/ })).toContainText("2");
});

test("tasks are paged, and searched across pages", async ({ page, request }) => {
  const call = async <T>(procedure: string, data: unknown) => {
    const answer = await request.post(`/flyteidl2.task.TaskService/${procedure}`, { data });
    expect(answer.ok(), await answer.text()).toBe(true);
    return (await answer.json()) as T;
  };
  const id = { org: "flyte", project: "flytesnacks", version: "first" };
  const { details } = await call<{ details: { spec: { taskTemplate: { id: object } } } }>("GetTaskDetails", {
    taskId: { ...id, domain: "development", name: "shown.squares" },
  });
  for (let n = 0; n < 130; n++) {
    const name = `many.task${String(n).padStart(3, "0")}`;
    await call("DeployTask", {
      taskId: { ...id, domain: "staging", name },
      spec: { ...details.spec, taskTemplate: { ...details.spec.taskTemplate, id: undefined } },
    });
  }
  await page.goto("/v2/domain/staging/project/flytesnacks/tasks?view=deployed");
  const rows = page.getByTestId("task-row");
  await expect(rows).toHaveCount(100);
  await expect(page.getByText("130 tasks")).toBeVisible();
  await page.getByRole("button", { name: "More tasks" }).click();
  await expect(rows).toHaveCount(130);
  expect(new Set(await rows.evaluateAll((all) => all.map((row) => row.dataset["name"]))).size).toBe(130);
  await expect(page.getByRole("button", { name: "More tasks" })).toHaveCount(0);
  await page.getByRole("searchbox", { name: "Find tasks" }).fill("task00");
  await expect(rows).toHaveCount(10);
  await expect(page.getByText("10 of 130 tasks")).toBeVisible();
});

test("a task shows its inputs, environment and history", async ({ page }) => {
  await page.goto(`${place}/tasks/shown.squares`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("shown.squares");
  await expectAccessible(page);
  for (const [name, words] of [
    ["Interface", "words"],
    ["Environment", "shown"],
  ] as const) {
    await page.getByRole("tab", { name }).click();
    await expect(page.getByRole("tabpanel", { name })).toContainText(words);
    await expectAccessible(page);
  }
});

test("a task that does not exist shows an error", async ({ page, complaints }) => {
  await page.goto(`${place}/tasks/never.was`);
  await expect(page.getByText(/There is no task/).or(page.getByRole("alert")).first()).toBeVisible();
  complaints.length = 0; // the browser tells of the answer 404
});
