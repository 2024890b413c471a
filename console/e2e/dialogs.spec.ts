import type { Page } from "@playwright/test";
import { expectEscapes, expectFits, expectTrapped, small } from "./dialog";
import { preparedApp, type Prepared } from "./setup";
import { screens } from "./screens";
import { expect, place, test } from "./test";

/** A dialog, where it is, and what opens it. */
type Opening = readonly [name: string, address: string, open: (page: Page, runs: Prepared) => Promise<void>];

const press = (name: RegExp) => async (page: Page) => page.getByRole("main").getByRole("button", { name }).first().click();
const pick = (menu: RegExp, item: RegExp) => async (page: Page) => {
  await page.getByRole("main").getByRole("button", { name: menu }).first().click();
  await page.getByRole("menuitem", { name: item }).click();
};
const bulk = (verb: string) => async (page: Page) => {
  await page.getByRole("row").getByRole("checkbox").nth(1).check();
  await page.getByRole("button", { name: verb }).click();
};
const trigger = `${place}/triggers/triggered.read/on_figures`;
const app = `${place}/apps/${preparedApp}`;

const openings: readonly Opening[] = [
  ["to create a project", "/v2/", press(/^Create project/)],
  ["to edit a project", "/v2/", pick(/^Actions for flytesnacks/, /^Edit/)],
  ["to archive a project", "/v2/", pick(/^Actions for flytesnacks/, /^Archive/)],
  ["to save a view", `${place}/runs?phases=failed`, pick(/^Views/, /^Save this view/)],
  ["to abort many runs", `${place}/runs`, bulk("Abort")],
  ["to rerun many runs", `${place}/runs`, bulk("Rerun")],
  ["to create a secret", `${place}/secrets`, press(/^Create secret/)],
  ["to replace a secret", `${place}/secrets`, press(/^Replace value/)],
  ["to delete a secret", `${place}/secrets`, press(/^Delete/)],
  ["to delete a trigger", trigger, press(/^Delete/)],
  ["to stop an app", app, press(/^Stop/)],
  ["to delete an app", app, press(/^Delete/)],
  ["to add a member", `${place}/members`, press(/^Add member/)],
  ["to create a role", `${place}/members`, press(/^Create role/)],
  ["to create a key", "/v2/keys", press(/^Create key/)],
  ["to create an account", "/v2/accounts", press(/^Create account/)],
  ["to add a cluster", "/v2/clusters", press(/^Add cluster/)],
  ["to cordon a cluster", "/v2/clusters", press(/^Cordon/)],
  ["to drain a cluster", "/v2/clusters", press(/^Drain/)],
  ["of a cluster's settings", "/v2/clusters", press(/^Settings/)],
  ["to remove a cluster", "/v2/clusters", press(/^Remove/)],
  [
    "of the shortcuts",
    `${place}/runs`,
    async (page) => {
      await expect(page.getByRole("row").nth(1)).toBeVisible();
      await page.keyboard.press("?");
    },
  ],
  // Those that screens show.
  ...["runs-filters", "rerun", "recover", "abort", "palette", "preferences"].map((name): Opening => [`of the screen ${name}`, "/v2/", async (page, runs) => screens.find((screen) => screen.name === name)?.open(page, runs)]),
];

for (const [name, address, open] of openings) {
  test(`the dialog ${name} fits a small window, keeps the focus, and closes by Escape`, async ({ page, runs, complaints }) => {
    await page.setViewportSize(small);
    await page.goto(address);
    await open(page, runs);
    const dialog = page.getByRole("dialog");
    await expectFits(page, dialog);
    await expectTrapped(page, dialog);
    await expectEscapes(page, dialog);
    complaints.length = 0; // local accounts are not enabled
  });
}
