import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { account, endSession, enter, expect, openAs, passwords, sessionEnded, test } from "./accounts";
import type { Demo } from "./demo";
import { sizes, themes } from "./screens";
import { expectAccessible, place } from "./test";

/** What the server says to the holder of a secret. */
const callWith = (demo: Demo, secret: string): Promise<Response> =>
  fetch(`${demo.url}/flytebinary.access.v1.AccessService/GetMe`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${secret}` },
    body: "{}",
  });

test("a deep link survives the sign-in, and the account menu says who one is", async ({ page }) => {
  await page.goto(`${place}/runs?query=${encodeURIComponent("phase:failed train")}`);
  await enter(page, "vera", "a-wrong-password");
  await expect(page.getByRole("alert")).toBeVisible();
  await enter(page, "vera");
  await page.waitForURL(/\/v2\/domain\/development\/project\/flytesnacks\/runs\?.*query=phase(:|%3A)failed/);
  await expect(page.getByRole("combobox", { name: "Filter runs" })).toHaveValue("phase:failed train");
  await account(page).click();
  const menu = page.getByRole("dialog", { name: "Account" });
  await expect(menu).toContainText("Vera Viewer");
  await expect(menu).toContainText("viewer in flytesnacks");
  await expect(menu.getByRole("link", { name: "Audit" })).toHaveCount(0);
});

test("what a role may not do is said in words, by buttons and by pages", async ({ page }) => {
  await openAs(page, "vera", `${place}/secrets`);
  const create = page.getByRole("button", { name: "Create secret" });
  await expect(create).toHaveAttribute("aria-disabled", "true");
  await create.click({ force: true }); // it can be pressed, and says why it does nothing
  const why = page.getByRole("dialog", { name: "Why you may not do this" });
  await expect(why).toContainText("Takes the role contributor in flytesnacks/development, for the permission secret.create. Ask in the channel of the platform team.");
  await expect(why).toContainText("Who can give you this:Administrator (the whole installation)");
  await expect(why).toContainText(`Please give me the role contributor in flytesnacks/development. I need secret.create (Create secrets) for ${page.url()}. My subject is Vera Viewer, vera.`);
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByText("You may not see the secrets here")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Takes the role contributor in flytesnacks/development, for the permission secret.view. Ask in the channel" })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await page.goto("/v2/system");
  await expect(page.getByText("Takes the role operator in the whole installation, for the permission system.view. Ask in the channel")).toBeVisible();
  await page.goto(`${place}/members`);
  await expect(page.getByText("You may not see the members here")).toBeVisible();
  await expect(page.getByTestId("role")).toHaveCount(5);
  await page.goto("/v2/audit");
  await expect(page.getByText("You may not see the events here")).toBeVisible();
  await page.getByRole("button", { name: "Verify" }).click({ force: true });
  await expect(why).toContainText("Takes the role operator in the whole installation, for the permission audit.verify.");
  await page.goto("/v2/accounts");
  await expect(page.getByText("You may not see the accounts here")).toBeVisible();
  await page.goto("/v2/explain?permission=run.create&project=flytesnacks");
  await expect(page.getByTestId("explanation")).toContainText("One of the roles runner, contributor, admin, operator in flytesnacks allows it. Ask in the channel");
  await page.goto("/v2/explain?permission=run.create&project=flytesnacks&member=admin");
  await expect(page.getByText("You may ask only about yourself here")).toBeVisible();
});

test("a session that ends while a form is open: the form is kept, and sent after the sign-in in another tab", async ({ page, context, demo }) => {
  await openAs(page, "admin", `${place}/secrets`);
  await page.getByRole("button", { name: "Create secret" }).click();
  const form = page.getByRole("dialog", { name: "Create secret" });
  await form.getByLabel("Name").fill("kept-key");
  await form.getByLabel("Value").fill("typed before the end");
  await endSession(context, demo);
  // A poll may have noticed it before, and its notice covers the form: a click with the mouse would wait for ever.
  await form.getByRole("button", { name: "Create" }).dispatchEvent("click");
  await expect(sessionEnded(page)).toBeVisible();
  const opened = context.waitForEvent("page");
  await sessionEnded(page).getByRole("button", { name: "Sign in" }).click();
  const tab = await opened;
  await enter(tab, "admin");
  await expect(sessionEnded(page)).toBeHidden();
  await expect(page.getByTestId("secret-row").filter({ hasText: "kept-key" })).toBeVisible();
  await expect(form).toBeHidden();
});

test("who signs out in one tab is signed out in the other", async ({ page, context }) => {
  await openAs(page, "admin", "/v2/keys");
  const other = await context.newPage();
  await other.goto(`${place}/runs`);
  await expect(other.getByRole("heading", { name: "Runs" })).toBeVisible();
  await account(page).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "You have signed out" })).toBeVisible();
  await expect(sessionEnded(other)).toBeVisible();
  await other.reload();
  await expect(other.getByLabel("Password")).toBeVisible();
  await enter(other, "admin");
  await other.waitForURL(`**${place}/runs`);
});

test("a key is made, works, and is revoked; the audit has all of it", async ({ page, demo }) => {
  await openAs(page, "admin", "/v2/keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("nightly");
  await dialog.getByRole("button", { name: "Create" }).click();
  const secret = await dialog.getByLabel("Secret", { exact: true }).inputValue();
  expect(secret).toMatch(/^fbk_/);
  await expect(dialog).toContainText("There is no FLYTE_API_KEY"); // on this port
  expect(await (await callWith(demo, secret)).json()).toMatchObject({ kind: "key" });
  await dialog.getByRole("button", { name: "Done" }).click();
  expect(await page.content()).not.toContain(secret);

  await page.getByRole("button", { name: "Revoke nightly" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("No API keys")).toBeVisible();
  await expect.poll(async () => (await callWith(demo, secret)).status).toBe(401);
  await page.getByLabel("Include ended").check();
  await expect(page.getByTestId("key-row").filter({ hasText: "nightly" })).toContainText("revoked");

  await expect(async () => { // it is part of the record a moment later
    await page.goto("/v2/audit?permission=key.revoke&outcome=succeeded&subject=admin");
    await expect(page.getByTestId("audit-row").first()).toContainText("KeyService.RevokeKey", { timeout: 5_000 });
  }).toPass();
  await expect(page.getByLabel("Permission")).toHaveValue("key.revoke");
  expect(await page.content()).not.toContain(secret);
});

test("what a project has stored shows with the limits, below it and above it", async ({ page, demo }, info) => {
  await openAs(page, "vera", place);
  await page.goto("/v2/me");
  const row = page.getByTestId("limit-row").and(page.locator('[data-setting="runs.stored.projects"]'));
  await expect(row).toContainText("Stored bytes");
  await expect(row).toContainText("All callers in flytesnacks");
  const cells = row.getByRole("cell");
  await expect(cells.nth(1)).toHaveText("1.0 GiB");
  await expect(cells.nth(2)).toContainText(/^(1\.0 GiB|1,?0\d\d MiB)/, { timeout: 60_000 });
  await expect(row).toContainText(/\d (B|KiB|MiB) stored, measured/);
  await expectAccessible(page);

  const file = join(demo.data, "blobs", "flytesnacks", "development", "checkpoints", "model.bin"); // as a task writes it
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  truncateSync(file, 1.5 * 2 ** 30);
  try {
    await expect(cells.nth(2)).toContainText(/^None/, { timeout: 60_000 });
    await expect(row).toContainText(/1\.5 GiB stored, measured/);
    await row.scrollIntoViewIfNeeded();
    await info.attach("limits", { body: await page.screenshot({ path: info.outputPath("limits.png") }), contentType: "image/png" });
  } finally {
    rmSync(file);
  }
  await expect(cells.nth(2)).not.toContainText(/^None/, { timeout: 60_000 });
});

test("a role that is given and taken shows on the member's page", async ({ page, browser, demo }) => {
  await openAs(page, "admin", `${place}/members`);
  const theirs = await (await browser.newContext({ baseURL: demo.url })).newPage();
  await openAs(theirs, "vera", `${place}/secrets`);
  const create = theirs.getByRole("button", { name: "Create secret" });
  await expect(create).toHaveAttribute("aria-disabled", "true");
  await page.getByRole("button", { name: "Add member" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("vera");
  await dialog.getByLabel("Role").selectOption("contributor");
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(page.getByTestId("member-row").filter({ hasText: "vera" }).filter({ hasText: "contributor" })).toBeVisible();
  await expect(create).not.toHaveAttribute("aria-disabled", "true");
  await page.getByRole("button", { name: "Remove contributor from vera" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(create).toHaveAttribute("aria-disabled", "true");
  await theirs.context().close();
});

test("a role of one's own is made, given, explained, and deleted when no member has it", async ({ page }) => {
  await openAs(page, "admin", `${place}/members`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Create role" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("starter");
  await dialog.getByLabel("Description").fill("starts runs");
  await dialog.getByLabel(/^Start, rerun and recover runs/).check();
  await dialog.getByLabel("Patterns").fill("log.*");
  await expect(dialog.getByLabel(/^Read logs/)).toBeChecked();
  await dialog.getByRole("button", { name: "Create" }).click();
  const role = page.getByTestId("role").filter({ hasText: "starter" });
  await expect(role).toContainText("Start, rerun and recover runs");

  await page.getByRole("button", { name: "Add member" }).click();
  await dialog.getByLabel("Name").fill("otto");
  await dialog.getByLabel("Role").selectOption("starter");
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(page.getByTestId("member-row").filter({ hasText: "otto" })).toBeVisible();

  await page.getByRole("link", { name: "Explain access" }).click();
  const question = page.getByRole("form", { name: "Question" });
  await expect(question.getByLabel("Project")).toHaveValue("flytesnacks");
  await question.getByLabel("Member").fill("otto");
  await question.getByLabel("Permission").selectOption("run.create");
  await question.getByRole("button", { name: "Explain" }).click();
  const answer = page.getByTestId("explanation");
  await expect(answer).toContainText("user otto may run.create in flytesnacks/development: the role starter in flytesnacks/development (binding ");
  await question.getByLabel("Permission").selectOption("run.abort");
  await question.getByRole("button", { name: "Explain" }).click();
  await expect(answer).toHaveAttribute("data-allowed", "false");

  await page.goto(`${place}/members`);
  await role.locator("summary").click();
  await role.getByRole("button", { name: "Delete the role starter" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(dialog.getByRole("alert")).toContainText("bindings name the role starter");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Remove starter from otto" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(page.getByTestId("member-row").filter({ hasText: "otto" })).toHaveCount(0);
  await role.getByRole("button", { name: "Delete the role starter" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(role).toHaveCount(0);
});

test("the audit is verified", async ({ page }) => {
  await openAs(page, "admin", "/v2/audit");
  await expect(page.getByTestId("audit-row").first()).toBeVisible();
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByText(/^No event was changed or removed: \d+ checked/)).toBeVisible();
});

test("an operator keeps the accounts, and a group of an account gives its role at once", async ({ page, browser, demo }) => {
  await openAs(page, "admin", "/v2/accounts");
  const dialog = page.getByRole("dialog");
  const row = page.getByTestId("account-row").filter({ hasText: "gina" });
  await page.getByRole("button", { name: "Create account" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("gina");
  await dialog.getByLabel("Display name").fill("Gina Baker");
  await dialog.getByLabel("First password").fill(passwords.gina);
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(row).toContainText("Gina Baker");

  const theirs = await (await browser.newContext({ baseURL: demo.url })).newPage();
  await openAs(theirs, "gina", `${place}/secrets`);
  const note = theirs.getByRole("status").filter({ hasText: "You have no role in flytesnacks/development, or it does not exist" });
  await expect(note).toContainText("Administrator (the whole installation)");
  await expect(note).toContainText("Please give me the role viewer in flytesnacks/development.");
  await expectAccessible(theirs);

  await page.getByRole("button", { name: "Edit gina" }).click();
  await dialog.getByLabel("Groups").fill("bakers");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("bakers");
  await expect(theirs.getByRole("button", { name: "Create secret" })).not.toHaveAttribute("aria-disabled", "true");
  await expect(note).toHaveCount(0);

  await theirs.goto("/v2/me");
  await expect(theirs.getByTestId("limit-row").first()).toContainText("access.limits.requestsPerSecond");
  const change = async (current: string, next: string) => {
    await theirs.getByLabel("Current password").fill(current);
    await theirs.getByLabel("New password", { exact: true }).fill(next);
    await theirs.getByLabel("New password again").fill(next);
    await theirs.getByRole("button", { name: "Change password" }).click();
  };
  await change("a wrong password", "the-second-password");
  await expect(theirs.getByRole("alert")).toContainText("is wrong");
  await change(passwords.gina, "the-second-password");
  await expect(theirs.getByText("Password changed", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Sign out gina" }).click();
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await expect(sessionEnded(theirs)).toBeVisible();
  await theirs.goto("/v2/");
  for (let wrong = 0; wrong < 5; wrong++) await enter(theirs, "gina", "a wrong password");
  await enter(theirs, "gina", "the-second-password");
  await expect(theirs.getByRole("alert")).toBeVisible();
  await page.reload();
  await expect(row).toContainText("locked");
  await page.getByRole("button", { name: "Unlock gina" }).click();
  await dialog.getByRole("button", { name: "Unlock" }).click();
  await expect(row).toContainText("Active");
  await enter(theirs, "gina", "the-second-password");
  await theirs.waitForURL("**/v2/**");
  // A page that was never answered would be left for the sign-in page.
  await expect(theirs.getByRole("list", { name: "Projects" }).getByRole("listitem").first()).toBeVisible();

  await page.getByRole("button", { name: "Set password of gina" }).click();
  await dialog.getByLabel("New password").fill("the-third-password");
  await dialog.getByRole("button", { name: "Set password" }).click();
  await expect(sessionEnded(theirs)).toBeVisible();
  await page.getByRole("button", { name: "Remove gina" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
  await page.getByLabel("Include removed").check();
  await expect(row).toContainText("removed");
  await theirs.context().close();
});

test("an operator adds a cluster, replaces its credential and removes it", async ({ page }) => {
  await page.goto("/v2/clusters");
  await enter(page, "admin");
  await page.waitForURL("**/v2/clusters");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add cluster" }).click();
  await dialog.getByLabel("Name").fill("far-east");
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(dialog.getByLabel("Secret", { exact: true })).toHaveValue(/^fbc_\w{42}$/);
  await dialog.getByRole("button", { name: "Done" }).click();
  const row = page.getByTestId("cluster-row").filter({ hasText: "far-east" });
  await expect(row).toContainText("Not connected yet");
  await row.getByRole("link", { name: "far-east" }).click();
  const credentials = page.getByTestId("credentials");
  await expect(credentials).toContainText("never used");
  await page.getByRole("button", { name: "Issue credential for far-east" }).click();
  await dialog.getByRole("button", { name: "Issue" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(credentials.getByRole("listitem")).toHaveCount(2);
  await credentials.getByRole("button", { name: /^Revoke/ }).first().click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(credentials).toContainText("revoked");
  await expect(page.getByTestId("events")).toContainText("Added");
  if (process.env["CONSOLE_PICTURES"] !== undefined) await page.screenshot({ path: `${process.env["CONSOLE_PICTURES"]}/cluster.png`, fullPage: true });
  await page.getByRole("link", { name: "All clusters" }).click();
  await row.getByRole("button", { name: "Remove far-east" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
});

const screens: readonly { readonly name: string; readonly path: string; readonly shows: string }[] = [
  { name: "me", path: "/v2/me", shows: "Change password" },
  { name: "accounts", path: "/v2/accounts", shows: "Local accounts" },
  { name: "keys", path: "/v2/keys", shows: "API keys" },
  { name: "clusters", path: "/v2/clusters", shows: "Clusters" },
  { name: "cluster", path: "/v2/clusters/default", shows: "Cluster default" },
  { name: "members", path: `${place}/members`, shows: "What each role may do" },
  { name: "audit", path: "/v2/audit", shows: "Audit" },
  { name: "explain", path: "/v2/explain?permission=run.create&project=flytesnacks&member=vera", shows: "The bindings that allow it|What the member has there" },
];

test("the pages are accessible in every theme and width", async ({ page }) => {
  test.setTimeout(900_000); // it looks at every page six times
  const pictures = process.env["CONSOLE_PICTURES"];
  const check = async (name: string) => {
    await expectAccessible(page);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(over, `what hangs over the window of ${name}`).toBeLessThanOrEqual(0);
    const scrolled = await page.evaluate(() => [...document.querySelectorAll("main *, [role=dialog] *")].filter((one) => one.scrollWidth > one.clientWidth && getComputedStyle(one).overflowX === "auto").map((one) => one.className));
    expect(scrolled, `what scrolls sideways in ${name}`).toEqual([]);
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
  };
  await page.goto("/v2/keys");
  await page.waitForURL(/\/access\/sign-in/);
  await check("sign-in");
  await enter(page, "admin");
  await page.waitForURL("**/v2/keys");
  for (const [size, viewport] of Object.entries({ ...sizes, tablet: { width: 900, height: 800 } })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      for (const { name, path, shows } of screens) {
        await page.goto(path);
        await expect(page.getByRole("heading", { name: new RegExp(shows) }).first()).toBeVisible();
        await expect(page.getByText(/^Loading/)).toHaveCount(0);
        await check(`${name}-${size}-${colorScheme}`);
      }
      await account(page).click();
      await expect(page.getByRole("dialog", { name: "Account" })).toContainText("operator in the whole installation");
      await check(`account-${size}-${colorScheme}`);
      await page.goto(`${place}/members`);
      await page.getByRole("button", { name: "Create role" }).click();
      await expect(page.getByRole("dialog").getByLabel("Patterns")).toBeVisible();
      await check(`role-${size}-${colorScheme}`);
      await page.goto("/v2/accounts");
      await page.getByRole("button", { name: "Edit vera" }).click();
      await check(`account-edit-${size}-${colorScheme}`);
    }
  }
});
