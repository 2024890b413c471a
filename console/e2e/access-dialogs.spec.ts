import { account, endSession, expect, openAs, sessionEnded, test } from "./accounts";
import { expectEscapes, expectFits, expectTrapped, small } from "./dialog";
import { place } from "./test";

test("the dialogs fit a small window, keep the focus, and close by Escape unless they have a secret", async ({ page, browser, demo }) => {
  test.setTimeout(900_000); // it opens twenty dialogs
  const dialog = page.getByRole("dialog");
  const press = (name: string) => page.getByRole("main").getByRole("button", { name }).first().click();
  const look = async (name: string) => {
    await press(name);
    await expectFits(page, dialog);
    await expectTrapped(page, dialog);
    await expectEscapes(page, dialog);
  };
  /** Looks at a dialog that Escape does not close, since what it shows is shown once, and closes it. */
  const lookAtSecret = async () => {
    await expect(dialog.getByLabel("Secret", { exact: true })).toBeVisible();
    await expectFits(page, dialog);
    await expectTrapped(page, dialog);
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Done" }).click();
    await expect(dialog).toHaveCount(0);
  };
  await page.setViewportSize(small);
  await openAs(page, "admin", "/v2/accounts");
  await look("Create account");
  await press("Create account");
  await dialog.getByLabel("Name", { exact: true }).fill("flora");
  await dialog.getByLabel("Display name").fill("Flora Long-Name of the Department of Small Windows");
  await dialog.getByLabel("First password").fill("the-first-password-of-flora");
  await dialog.getByRole("button", { name: "Create" }).click();
  for (const change of ["Edit flora", "Set password of flora", "Sign out flora", "Remove flora"]) await look(change);
  const theirs = await (await browser.newContext({ baseURL: demo.url })).newPage();
  await theirs.goto("/v2/");
  for (let wrong = 0; wrong < 6; wrong++) {
    await theirs.getByLabel("Name").fill("flora");
    await theirs.getByLabel("Password").fill("a wrong password");
    await theirs.getByRole("button", { name: "Sign in" }).click();
    await expect(theirs.getByRole("alert")).toBeVisible();
  }
  await theirs.context().close();
  await page.reload();
  await look("Unlock flora");
  await press("Remove flora");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(dialog).toHaveCount(0);

  await page.goto("/v2/keys");
  await look("Create key");
  await press("Create key");
  await dialog.getByLabel("Name").fill("weekly");
  await dialog.getByRole("button", { name: "Create" }).click();
  await lookAtSecret();
  await look("Revoke weekly");

  await page.goto(`${place}/members`);
  await look("Add member");
  await look("Create role");
  await press("Create role");
  await dialog.getByLabel("Name", { exact: true }).fill("looker");
  await dialog.getByLabel("Patterns").fill("log.*");
  await dialog.getByRole("button", { name: "Create" }).click();
  await press("Add member");
  await dialog.getByLabel("Name").fill("otto");
  await dialog.getByLabel("Role").selectOption("looker");
  await dialog.getByRole("button", { name: "Add" }).click();
  await look("Remove looker from otto");
  await page.getByTestId("role").filter({ hasText: "looker" }).locator("summary").click();
  await look("Edit the role looker");
  await look("Delete the role looker");

  await page.goto("/v2/clusters");
  await press("Add cluster");
  await dialog.getByLabel("Name").fill("far-west");
  await dialog.getByRole("button", { name: "Add" }).click();
  await lookAtSecret();
  await page.getByRole("link", { name: "far-west" }).click();
  await look("Issue credential for far-west");
  await look("Revoke");

  await account(page).click();
  await expectFits(page, dialog);
  await expectEscapes(page, dialog);
  await endSession(page.context(), demo);
  await expect(sessionEnded(page)).toBeVisible();
  await expectFits(page, sessionEnded(page));
  await expectTrapped(page, sessionEnded(page));
});

test("the words on what a role may not do fit a small window", async ({ page }) => {
  await page.setViewportSize(small);
  await openAs(page, "vera", `${place}/secrets`);
  const create = page.getByRole("button", { name: "Create secret" });
  await expect(create).toHaveAttribute("aria-disabled", "true");
  await create.click({ force: true });
  const why = page.getByRole("dialog", { name: "Why you may not do this" });
  await expectFits(page, why);
  await expectTrapped(page, why);
  await expectEscapes(page, why);
});
