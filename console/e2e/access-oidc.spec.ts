import { expect, test as base, type Page } from "@playwright/test";
import { Demo } from "./demo";
import { Issuer } from "./issuer";
import { place } from "./test";

interface Shared {
  /** One server, whose people come from an identity provider, for all tests of this file. */
  readonly installation: { readonly demo: Demo };
}

const test = base.extend<object, Shared>({
  installation: [
    async ({}, provide) => {
      const demo = await Demo.make();
      const issuer = await Issuer.start(demo.url);
      demo.configure(
        `access.issuers=${JSON.stringify([{ name: "Zitadel", url: issuer.url, clientID: Issuer.client.id, clientSecret: Issuer.client.secret }])}`,
        `access.bindings=${JSON.stringify([{ user: Issuer.user.subject, role: "admin", project: "flytesnacks" }])}`,
      );
      try {
        await demo.start();
        await provide({ demo });
      } finally {
        await demo.stop();
        await issuer.stop();
      }
    },
    { scope: "worker", timeout: 600_000 },
  ],
  baseURL: async ({ installation }, provide) => provide(installation.demo.url),
});

/** Signs in on the page of the provider. */
async function atProvider(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Continue with Zitadel" }).click();
  await page.getByLabel("Username").fill(Issuer.user.name);
  await page.getByLabel("Password").fill(Issuer.user.password);
  await page.getByRole("button", { name: "Login" }).click();
}

async function openSignedIn(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await atProvider(page);
  await page.waitForURL(`**${path}`);
}

const account = (page: Page) => page.getByRole("button", { name: /^Account/ });
const sessionEnded = (page: Page) => page.getByRole("dialog", { name: "Your session has ended" });

test("a deep link survives the way over the provider", async ({ page }) => {
  await openSignedIn(page, `${place}/runs?query=phase%3Afailed`);
  await account(page).click();
  await expect(page.getByRole("dialog", { name: "Account" })).toContainText(Issuer.user.displayName);
  await expect(page.getByRole("dialog", { name: "Account" })).toContainText("admin in flytesnacks");
});

test("who signs out is signed out at the provider, in both tabs, and signs in again", async ({ page, context, installation: { demo } }) => {
  await openSignedIn(page, `${place}/runs`);
  const other = await context.newPage();
  await other.goto(`${place}/secrets`);
  await expect(other.getByRole("heading", { name: "Secrets" })).toBeVisible();
  const visited: string[] = [];
  page.on("request", (request) => visited.push(request.url()));
  await account(page).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "You have signed out" })).toBeVisible();
  expect(page.url()).toBe(`${demo.url}/access/signed-out`);
  expect(visited.some((url) => url.includes("/end_session?"))).toBe(true);
  await expect(sessionEnded(other)).toBeVisible();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await atProvider(page);
  await page.waitForURL("**/v2/**");
  await expect(sessionEnded(other)).toBeHidden();
});

test("a session that ends while a form is open: the form is kept over the sign-in at the provider", async ({ page, context, installation: { demo } }) => {
  await openSignedIn(page, `${place}/secrets`);
  await page.getByRole("button", { name: "Create secret" }).click();
  const form = page.getByRole("dialog", { name: "Create secret" });
  await form.getByLabel("Name").fill("kept-over-the-provider");
  await form.getByLabel("Value").fill("typed before the end");
  const cookies = (await context.cookies(demo.url)).map(({ name, value }) => `${name}=${value}`).join("; ");
  expect((await fetch(`${demo.url}/access/sign-out`, { method: "POST", headers: { Cookie: cookies }, redirect: "manual" })).status).toBe(303);
  // Either this call finds that the session has ended, or a stream of the page does before it can be pressed: then it is pressed afterwards.
  const pressed = form.getByRole("button", { name: "Create" }).click();
  await expect(sessionEnded(page)).toBeVisible();
  const opened = context.waitForEvent("page");
  await sessionEnded(page).getByRole("button", { name: "Sign in" }).click();
  await atProvider(await opened);
  await pressed;
  await expect(sessionEnded(page)).toBeHidden();
  await expect(page.getByTestId("secret-row").filter({ hasText: "kept-over-the-provider" })).toBeVisible();
});
