import { expect, test as base, type Page } from "@playwright/test";
import { takes } from "../src/entities/access/takes";
import { Closed, passwordOf, Session, type Person } from "./closed";
import { addressOf, routes } from "./pages";

interface Shared {
  /** One server in which people sign in, with the data of the other tests. */
  readonly closed: Closed;
}

const test = base.extend<object, Shared>({
  closed: [
    async ({}, provide) => {
      const closed = await Closed.start();
      try {
        await provide(closed);
      } finally {
        await closed.demo.stop();
      }
    },
    { scope: "worker", timeout: 900_000 },
  ],
  baseURL: async ({ closed }, provide) => provide(closed.demo.url),
});

/** A control that says that its reader may not press it. */
interface Refusal {
  readonly call: string;
  readonly words: string;
  readonly pressed: boolean;
}

async function openAs(page: Page, closed: Closed, name: Person): Promise<void> {
  await page.goto("/v2/");
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(passwordOf(closed.demo, name));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/v2/**");
}

const settled = async (page: Page) => {
  await expect(page.locator("main")).not.toBeEmpty();
  await expect(page.getByText(/^Loading/)).toHaveCount(0);
  // Until the roles are there, a control does not name one.
  await expect(page.locator("[data-denied][aria-description^='You may not do this in']")).toHaveCount(0);
  await expect(page.locator("[data-denied]").filter({ hasText: /^You may not do this in/ })).toHaveCount(0);
};

/** What the page says of its denied controls. */
const refusals = (page: Page): Promise<readonly Refusal[]> =>
  page.locator("[data-denied]").evaluateAll((all) =>
    all.map((one) => ({
      call: one.getAttribute("data-denied") ?? "",
      words: one.getAttribute("aria-description") ?? one.textContent,
      // A list that is not shown has no control.
      pressed: !(one.getAttribute("aria-disabled") === "true" || one.querySelector("[role=status]") !== null),
    })),
  );

/** Looks at a page with each of its tabs, a chosen row and its menus, and presses nothing else. */
async function look(page: Page, found: Refusal[]): Promise<void> {
  const collect = async () => {
    await settled(page);
    found.push(...(await refusals(page)));
  };
  await collect();
  const boxes = page.locator("main table input[type=checkbox]");
  if ((await boxes.count()) > 0) {
    await boxes.last().check();
    await collect();
    await boxes.last().uncheck();
  }
  const tabs = page.locator("main [role=tab]");
  for (let n = 0; n < (await tabs.count()); n++) {
    await tabs.nth(n).click();
    await collect();
  }
  const menus = page.locator("main [aria-haspopup=menu]");
  for (let n = 0; n < (await menus.count()); n++) {
    await menus.nth(n).click();
    await expect(page.getByRole("menu")).toBeVisible();
    await collect();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("menu")).toHaveCount(0);
  }
}

/** Visits every page of the console, and returns the denied controls and the calls that the server refused. */
async function visitAll(page: Page, closed: Closed): Promise<{ readonly found: readonly Refusal[]; readonly refused: readonly string[] }> {
  const found: Refusal[] = [];
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(`${response.url()} of ${page.url()}`);
  });
  const more = [
    "/v2/inbox",
    "/v2/domain/development/project/flytesnacks/tasks?view=cache&task=shown.squares",
    `/v2/domain/development/project/flytesnacks/runs/${closed.runs.asking}?action=a0`,
    `/v2/domain/development/project/flytesnacks/runs/${closed.runs.failing}?action=a0`,
    "/v2/domain/development/project/flytesnacks/runs?query=name:own",
    "/v2/domain/development/project/flytesnacks/runs?query=name:shared",
  ];
  for (const address of [...routes.map((route) => addressOf(route, closed.runs)), ...more]) {
    await page.goto(address);
    await look(page, found);
  }
  // The condition of a run has its own controls.
  await page.goto(`/v2/domain/development/project/flytesnacks/runs/${closed.runs.asking}`);
  await page.getByRole("treeitem").filter({ hasText: "go-on" }).click();
  await expect(page.getByTestId("action-panel").getByRole("button", { name: "Approve" })).toBeVisible();
  await look(page, found);
  return { found, refused };
}

/** The controls of these calls are in rows that need data which this server does not have, or in lists that the reader may not see. */
const unseen = new Set([
  "flytebinary.access.v1.AccessService/DeleteBinding", // a row of the members
  ...["EndSessions", "RemoveAccount", "SetPassword", "UnlockAccount", "UpdateAccount"].map((name) => `flytebinary.access.v1.AccountService/${name}`), // rows of accounts
  ...["CordonCluster", "DrainCluster", "IssueCredential", "RemoveCluster", "RevokeCredential", "UncordonCluster", "UpdateCluster"].map((name) => `flytebinary.clusters.v1.ClusterRegistryService/${name}`), // rows of clusters
  "flytebinary.insight.v1.NotificationService/RetryDelivery", // a notification that was not delivered
  "flytebinary.insight.v1.NotificationService/SendTest", // a rule of notifications
  "flytebinary.insight.v1.TriggerInsightService/CancelBackfill", // a backfill that is running
  ...["DeleteSecret", "UpdateSecret"].map((name) => `flyteidl2.secret.SecretService/${name}`), // rows of secrets
  "flyteidl2.workflow.TrackedRunService/AbortRun", // a run that a client executes
]);

test("every control that a viewer may not press says so on some page, with the role and the permission, and no page calls what is refused", async ({ page, closed }) => {
  test.setTimeout(900_000);
  await openAs(page, closed, "viewer");
  const [viewer, admin] = [await Session.of(closed.demo, "viewer"), await Session.of(closed.demo, "admin")];
  await viewer.call("ViewService/SaveView", { view: { name: "Own", query: "name:own" } }, "insight");
  await admin.call("ViewService/ShareView", { projectId: { name: "flytesnacks", domain: "development" }, view: { name: "Shared", query: "name:shared" } }, "insight");
  const { grants } = (await viewer.call("AccessService/GetMe", {})) as { readonly grants: readonly { readonly permissions: readonly string[] }[] };
  const may = new Set(grants.flatMap(({ permissions }) => permissions));
  const { found, refused } = await visitAll(page, closed);
  expect(refused).toEqual([]);
  expect(found.filter(({ pressed }) => pressed), "controls that can be pressed").toEqual([]);
  for (const { call, words } of found) expect(words, call).toMatch(new RegExp(`^.*Takes the role \\w+ in .*, for the permission ${takes[call] ?? "?"}\\.`));
  const denied = Object.keys(takes).filter((call) => !may.has(takes[call] ?? ""));
  const seen = new Set(found.map(({ call }) => call));
  expect(denied.length).toBeGreaterThan(20);
  expect(denied.filter((call) => !seen.has(call) && !unseen.has(call)), "calls without a control that says that it is denied").toEqual([]);
  expect([...seen].filter((call) => !denied.includes(call) || unseen.has(call)), "controls that are denied although the reader may, and exceptions that are none").toEqual([]);
});

test("no control is denied to an operator", async ({ page, closed }) => {
  test.setTimeout(900_000);
  await openAs(page, closed, "admin");
  const { found, refused } = await visitAll(page, closed);
  expect(refused).toEqual([]);
  expect(found).toEqual([]);
});
