import type { APIRequestContext, Page } from "@playwright/test";
import { actions, expect, panel, place, test } from "./test";

// Everything that people, tasks and clients name or say is data. What is shown here runs if a page takes it for anything else.
const link = "javascript:window.owned=1";
const text = `"'><img src="/x-canary" onerror="window.owned=1"><script>window.owned=1</script><a href="${link}">link</a>`;
const short = `<img src="/x-canary" onerror="window.owned=1">`; // where at most 63 characters are allowed

async function call(request: APIRequestContext, method: string, data: object): Promise<void> {
  const answer = await request.post(`/flyteidl2.${method}`, { data });
  expect(answer.ok(), await answer.text()).toBe(true);
}

const words = (value: string) => ({ scalar: { primitive: { stringValue: value } } });
const typed = (key: string) => ({ key, value: { type: { simple: "STRING" }, description: text } });

/** Deploys a task that gives what it is given, and runs it: all of its words are hostile. */
async function echo(request: APIRequestContext, name: string): Promise<void> {
  const scope = { project: "flytesnacks", domain: "development" };
  const taskId = { ...scope, name: `hostile.${name}`, version: "v1" };
  await call(request, "task.TaskService/DeployTask", {
    taskId,
    spec: {
      shortName: short,
      environment: { name: short, description: text },
      documentation: { shortDescription: text, longDescription: `[${text}](${link})`, sourceCode: { link } },
      taskTemplate: {
        id: { resourceType: "TASK", ...taskId },
        type: "echo",
        interface: { inputs: { variables: [typed("x"), typed("y")] }, outputs: { variables: [typed("x"), typed("y")] } },
      },
      defaultInputs: [{ name: "x", parameter: { var: typed("x").value, default: words(text) } }],
    },
  });
  await call(request, "workflow.RunService/CreateRun", {
    runId: { ...scope, name },
    taskId,
    runSpec: { annotations: { values: { hostile: text, plain: link } }, envs: { values: [{ key: "HOSTILE", value: text }] } },
    inputs: {
      literals: [
        { name: "x", value: words(text) },
        { name: "y", value: words(link) },
      ],
    },
  });
}

/** Waits for what a page is to show, and looks whether any of it did something. */
async function harmless(page: Page, shown = text): Promise<void> {
  await expect.soft(page.getByText(shown, { exact: false }).first(), page.url()).toBeAttached();
  expect.soft(await page.evaluate(() => "owned" in window), page.url()).toBe(false);
  expect.soft(await page.locator("[src*=x-canary], [href*='javascript:' i], [onerror]").count(), page.url()).toBe(0);
}

test("nothing that is shown runs", async ({ page, request, launch, complaints }) => {
  page.on("request", (sent) => sent.url().includes("x-canary") && complaints.push(`a request to ${sent.url()}`));
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const echoed = `hostile${Date.now().toString(36)}`;
  await echo(request, echoed);
  const run = await launch({ task: "hostile", labels: { hostile: "yes" } });

  await page.goto(`${place}/runs/${run}`);
  await expect(actions(page).getByRole("treeitem").filter({ hasText: "go-on" })).toBeVisible();
  await page.goto(`${place}/inbox`);
  await harmless(page);
  const card = page.getByRole("article").filter({ hasText: run });
  await card.getByRole("button", { name: "Approve" }).click();
  await card.getByRole("button", { name: "Now" }).click();
  await expect(card).toBeHidden(); // the answer is stored; to leave the page before would cancel it

  for (const [path, shown] of [
    [`runs/${echoed}?action=a0`, short],
    [`runs/${echoed}?action=a0&tab=io`],
    [`tasks/hostile.${echoed}`, short],
    [`tasks/hostile.${echoed}/v1`],
    [`launch?task=hostile.${echoed}`],
    [`tasks?view=deployed`, short],
    [`compare?a=${echoed}&b=${run}`, "<script>window.owned=1</script>"], // as JSON
    [`runs`, short],
  ] as const) {
    await page.goto(`${place}/${path}`);
    await harmless(page, shown);
  }

  await page.goto(`${place}/runs/${run}?action=a0`);
  await expect(panel(page).getByTestId("failure")).toContainText(text);
  await harmless(page);
  for (const [search, shown] of [
    ["?action=a0&tab=logs"],
    ["?action=a0&tab=io"],
    ["?action=a0&tab=code", "window.owned"],
    ["?view=errors"],
    ["?view=graph", "refuse"],
    ["?view=timeline", "refuse"],
  ] as const) {
    await page.goto(`${place}/runs/${run}${search}`);
    await harmless(page, shown);
  }
  await page.goto(`${place}/runs/${run}?action=a0&tab=report`);
  await expect(panel(page).getByTestId("report").locator("iframe:not([data-behind])").contentFrame().getByRole("heading", { name: "Hostile" })).toBeVisible();
  await harmless(page, run);
  await page.goto(place);
  await harmless(page, "flytesnacks");
});
