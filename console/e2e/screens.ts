import { expect, type Page } from "@playwright/test";
import { preparedApp, type Prepared } from "./setup";
import { actions, panel, place } from "./test";

/** A screen, and how one comes to it. It is open when it shows what it is for. */
export interface Screen {
  readonly name: string;
  readonly open: (page: Page, runs: Prepared) => Promise<void>;
  /** It is about something that does not exist, which the browser notes. */
  readonly absent?: boolean;
}

const run = (page: Page, name: string, search = "") => page.goto(`${place}/runs/${name}${search}`);

const nothing = "/v2/domain/production/project/flytesnacks";

/** A page of a project that has nothing, or about something that does not exist, and what it says. */
const shows = (name: string, address: string, words: string, absent = false): Screen => ({
  name,
  absent,
  open: async (page) => {
    await page.goto(address);
    await expect(page.getByRole("main")).toContainText(words);
  },
});

/** All screens, as they are looked at in every theme and width. */
export const screens: readonly Screen[] = [
  {
    name: "home",
    open: async (page) => {
      await page.goto("/v2/");
      await expect(page.getByRole("list", { name: "Domains of flytesnacks" })).toBeVisible();
    },
  },
  {
    name: "runs",
    open: async (page) => {
      await page.goto(`${place}/runs`);
      await expect(page.getByRole("row").nth(1)).toBeVisible(); // any run: rows out of view are not in the page
    },
  },
  {
    name: "runs-filters",
    open: async (page) => {
      await page.goto(`${place}/runs?phases=failed,succeeded&since=24h`);
      await page.getByRole("button", { name: "All filters" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
    },
  },
  shows("runs-empty", `${nothing}/runs`, "No runs yet"),
  shows("tasks-empty", `${nothing}/tasks`, "No task has run yet"),
  shows("tasks-deployed-empty", `${nothing}/tasks?view=deployed`, "No tasks deployed yet"),
  shows("triggers-empty", `${nothing}/triggers`, "No triggers deployed yet"),
  shows("apps-empty", `${nothing}/apps`, "No apps yet"),
  shows("artifacts-empty", `${nothing}/artifacts`, "No artifacts yet"),
  shows("secrets-empty", `${nothing}/secrets`, "No secrets in flytesnacks / production"),
  shows("pools-empty", `${nothing}/pools`, "No worker pools"),
  shows("problems-empty", `${nothing}/problems`, "No problems"),
  shows("costs-empty", `${nothing}/costs`, "Nothing has ended"),
  shows("project-nowhere", "/v2/domain/development/project/nope/runs", "There is no project nope", true),
  shows("run-nowhere", `${place}/runs/nope`, "does not exist", true),
  shows("task-nowhere", `${place}/tasks/nope`, "There is no task nope", true),
  shows("app-nowhere", `${place}/apps/nope`, "does not exist", true),
  shows("cluster-nowhere", "/v2/clusters/nope", "does not exist", true),
  {
    name: "run",
    open: async (page, runs) => {
      await run(page, runs.squares);
      await expect(actions(page).getByRole("treeitem")).toHaveCount(6);
      if (page.viewportSize()?.width === sizes.wide.width) await expect(panel(page).getByText("Phases")).toBeVisible();
    },
  },
  {
    name: "run-failed",
    open: async (page, runs) => {
      await run(page, runs.failing, "?action=a0");
      await expect(panel(page).getByTestId("failure").getByTestId("traceback")).toBeVisible({ timeout: 60_000 });
    },
  },
  {
    name: "run-data",
    open: async (page, runs) => {
      await run(page, runs.previewing, "?action=a0");
      await expect(panel(page).getByRole("img", { name: "plot.png" })).toBeVisible();
    },
  },
  {
    name: "run-timeline",
    open: async (page, runs) => {
      await run(page, runs.squares, "?view=timeline");
      await expect(page.getByRole("region", { name: "Why slow" })).toBeVisible();
    },
  },
  {
    name: "run-failures",
    open: async (page, runs) => {
      await run(page, runs.failing, "?view=errors");
      await expect(page.getByRole("tabpanel").getByText("the oven is cold").first()).toBeVisible();
    },
  },
  {
    name: "run-apps",
    open: async (page, runs) => {
      await run(page, runs.training, "?view=apps");
      await expect(page.getByRole("tabpanel").getByRole("link", { name: preparedApp })).toBeVisible();
    },
  },
  {
    name: "action-values",
    open: async (page, runs) => {
      await run(page, runs.squares, "?action=a0&tab=io");
      await expect(panel(page).getByTestId("outputs")).toContainText("14");
    },
  },
  {
    name: "action-logs",
    open: async (page, runs) => {
      await run(page, runs.talking, "?action=a0&tab=logs");
      await expect(panel(page).getByRole("log")).toContainText("of the hay");
    },
  },
  {
    name: "action-code",
    open: async (page, runs) => {
      await run(page, runs.squares, "?action=a0&tab=code");
      await expect(panel(page).getByText("async def squares").first()).toBeVisible();
    },
  },
  {
    name: "action-report",
    open: async (page, runs) => {
      await run(page, runs.drawing, "?action=a0&tab=report");
      await expect(panel(page).getByTestId("report").locator("iframe").contentFrame().getByRole("heading", { name: "A small report" })).toBeVisible();
    },
  },
  {
    name: "action-pod",
    open: async (page, runs) => {
      await run(page, runs.squares, "?action=a0&tab=pod");
      await expect(panel(page).getByText(/kubectl describe pod/)).toBeVisible();
    },
  },
  {
    name: "condition",
    open: async (page, runs) => {
      await run(page, runs.asking);
      await actions(page).getByRole("treeitem").filter({ hasText: "go-on" }).click();
      await expect(panel(page).getByRole("button", { name: "Approve" })).toBeVisible();
    },
  },
  {
    name: "rerun",
    open: async (page, runs) => {
      await run(page, runs.squares);
      await page.getByRole("button", { name: /^Rerun/ }).click();
      await page.getByRole("dialog").getByLabel(/^n\b/).fill("5");
      await expect(page.getByRole("dialog").getByLabel("Inputs, 1 changed")).toBeVisible();
    },
  },
  {
    name: "recover",
    open: async (page, runs) => {
      await run(page, runs.failing);
      await page.getByRole("button", { name: /^Recover/ }).click();
      await expect(page.getByRole("dialog").getByRole("status")).toContainText("reused");
    },
  },
  {
    name: "abort",
    open: async (page, runs) => {
      await run(page, runs.asking);
      await page.getByRole("button", { name: /^Abort/ }).click();
      await expect(page.getByRole("dialog").getByLabel("Reason")).toBeVisible();
    },
  },
  {
    name: "run-graph",
    open: async (page, runs) => {
      await run(page, runs.failing, "?view=graph");
      await expect(page.getByTestId("graph").getByRole("treeitem", { name: /refuse/ })).toBeVisible();
    },
  },
  {
    name: "compare",
    open: async (page, runs) => {
      await page.goto(`${place}/compare?a=${runs.squares}&b=${runs.failing}`);
      await expect(page.getByTestId("compare-timings")).toBeVisible();
    },
  },
  {
    name: "waiting",
    open: async (page, runs) => {
      await page.goto("/v2/waiting");
      await expect(page.getByRole("table", { name: "Waits" })).toContainText(runs.asking);
    },
  },
  {
    name: "inbox",
    open: async (page, runs) => {
      await page.goto("/v2/inbox");
      await expect(page.getByRole("article").filter({ hasText: runs.asking })).toBeVisible();
    },
  },
  {
    name: "tasks",
    open: async (page) => {
      await page.goto(`${place}/tasks`);
      await expect(page.getByTestId("health-row").first()).toBeVisible();
    },
  },
  {
    name: "tasks-deployed",
    open: async (page) => {
      await page.goto(`${place}/tasks?view=deployed`);
      await expect(page.getByRole("table", { name: "Deployed tasks" })).toBeVisible();
    },
  },
  {
    name: "tasks-cache",
    open: async (page) => {
      await page.goto(`${place}/tasks?view=cache`);
      // Only other tests have tasks that use the cache.
      await expect(page.getByTestId("cache-row").first().or(page.getByText("No task has used the cache"))).toBeVisible();
    },
  },
  {
    name: "task-pipeline",
    open: async (page) => {
      await page.goto(`${place}/tasks/shown.squares?tab=pipeline`);
      await expect(page.getByTestId("pipeline")).toBeVisible();
    },
  },
  {
    name: "costs",
    open: async (page) => {
      await page.goto(`${place}/costs`);
      await expect(page.getByTestId("cost-row").first()).toBeVisible();
    },
  },
  {
    name: "task",
    open: async (page) => {
      await page.goto(`${place}/tasks/shown.squares`);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("shown.squares");
      await expect(page.getByText(/^Loading/)).toHaveCount(0);
    },
  },
  {
    name: "apps",
    open: async (page) => {
      await page.goto(`${place}/apps?q=${preparedApp}`);
      await expect(page.getByTestId("app-row")).toBeVisible();
    },
  },
  ...(["overview", "logs", "revisions", "settings", "history"] as const).map((tab) => ({
    name: `app-${tab}`,
    open: async (page: Page) => {
      await page.goto(`${place}/apps/${preparedApp}?tab=${tab}`);
      await expect(page.getByRole("tabpanel")).toBeVisible();
      await expect(page.getByText(/^Loading/)).toHaveCount(0);
    },
  })),
  {
    name: "triggers",
    open: async (page) => {
      await page.goto(`${place}/triggers`);
      await expect(page.getByRole("table", { name: "Triggers" })).toContainText("on_figures");
    },
  },
  {
    name: "trigger",
    open: async (page) => {
      await page.goto(`${place}/triggers/triggered.read/on_figures`);
      await expect(page.getByRole("table", { name: "Runs" })).toBeVisible();
    },
  },
  {
    name: "problems",
    open: async (page) => {
      await page.goto(`${place}/problems`);
      await expect(page.locator('[data-testid="problem-row"][data-code="ValueError"]').first()).toContainText("shown.py:refuse");
    },
  },
  {
    name: "problem",
    open: async (page) => {
      await page.goto(`${place}/problems`);
      await page.locator('[data-testid="problem-row"][data-code="ValueError"]').first().getByRole("link").first().click();
      await expect(page.getByTestId("traceback")).toContainText("shown.py");
    },
  },
  {
    name: "artifacts",
    open: async (page) => {
      await page.goto(`${place}/artifacts`);
      await expect(page.getByTestId("artifact-row").filter({ hasText: "shown-figures" })).toBeVisible();
    },
  },
  {
    name: "artifact",
    open: async (page) => {
      await page.goto(`${place}/artifacts/shown-figures?version=1`);
      await expect(page.getByRole("group", { name: /^Lineage/ })).toBeVisible();
    },
  },
  {
    name: "pools",
    open: async (page) => {
      await page.goto(`${place}/pools?environment=reused`);
      await expect(page.getByRole("table", { name: "Workers", exact: true })).toBeVisible();
    },
  },
  {
    name: "secrets",
    open: async (page) => {
      await page.goto(`${place}/secrets`);
      await expect(page.getByRole("table", { name: "Secrets" })).toContainText("shown-key");
    },
  },
  {
    name: "notifications",
    open: async (page) => {
      await page.goto("/v2/notifications");
      await expect(page.getByText("All notifications delivered")).toBeVisible();
    },
  },
  {
    name: "launch",
    open: async (page) => {
      await page.goto(`${place}/launch?task=shown.squares`);
      await expect(page.getByLabel(/^n\b/)).toBeVisible();
    },
  },
  {
    name: "palette",
    open: async (page) => {
      await page.goto(`${place}/runs`);
      await expect(page.getByRole("table")).toBeVisible();
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("dialog")).toBeVisible();
    },
  },
  {
    name: "preferences",
    open: async (page) => {
      await page.goto(`${place}/runs`);
      await page.getByRole("button", { name: "Theme, language and time zone" }).click();
      await expect(page.getByLabel("Theme", { exact: true })).toBeVisible();
    },
  },
  {
    name: "system",
    open: async (page) => {
      await page.goto("/v2/system");
      await expect(page.getByTestId("settings")).toBeVisible();
    },
  },
  {
    name: "nowhere",
    open: async (page) => {
      await page.goto("/v2/no/such/page");
      await expect(page.getByText("Page not found")).toBeVisible();
    },
  },
];

export const themes = ["light", "dark"] as const;
/** The widths of a window on a desk and of a telephone, with their heights, in pixels. */
export const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;
