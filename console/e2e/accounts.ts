import { expect, test as base, type BrowserContext, type Page } from "@playwright/test";
import { Demo } from "./demo";

export { expect };

/** The people of these tests. The role of vera is in the configuration. */
export const passwords = { admin: "a-long-first-password", vera: "the-password-of-vera", gina: "the-first-password-of-gina" } as const;
export type Name = keyof typeof passwords;

const settings = [
  "access.local.enabled=true",
  `access.local.adminPassword=${passwords.admin}`,
  `access.local.accounts=${JSON.stringify([{ name: "vera", password: passwords.vera, displayName: "Vera Viewer" }])}`,
  `access.bindings=${JSON.stringify([{ user: "vera", role: "viewer", project: "flytesnacks" }, { group: "bakers", role: "contributor", project: "flytesnacks" }])}`,
  "access.ask=Ask in the channel of the platform team.",
  `runs.stored.projects=${JSON.stringify([{ project: "flytesnacks", bytes: 2 ** 30 }])}`,
  "runs.stored.interval=2s",
  "runs.stored.nearInterval=1s",
];

interface Fixtures {
  /** A separate browser context without a session. */
  readonly context: BrowserContext;
}

/** One server with local accounts for all tests of a file. */
export const test = base.extend<Fixtures, { readonly demo: Demo }>({
  demo: [
    async ({}, provide) => {
      const demo = await Demo.make(settings);
      try {
        await demo.start();
        await provide(demo);
      } finally {
        await demo.stop();
      }
    },
    { scope: "worker", timeout: 600_000 },
  ],
  baseURL: async ({ demo }, provide) => provide(demo.url),
});

/** Fills in the sign-in page. */
export async function enter(page: Page, name: Name, password: string = passwords[name]): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Opens a page as a person. */
export async function openAs(page: Page, name: Name, path: string): Promise<void> {
  await page.goto(path);
  await enter(page, name);
  await page.waitForURL((url) => url.pathname.startsWith("/v2/"));
}

/** Ends the session on the server as its lifetime does. The browser still has its cookie. */
export async function endSession(context: BrowserContext, demo: Demo): Promise<void> {
  const cookies = await context.cookies(demo.url);
  const answer = await fetch(`${demo.url}/access/sign-out`, {
    method: "POST",
    headers: { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; ") },
    redirect: "manual",
  });
  expect(answer.status).toBe(303);
}

/** The button of the account menu. */
export const account = (page: Page) => page.getByRole("button", { name: /^Account/ });
/** The dialog that covers a page whose session has ended. */
export const sessionEnded = (page: Page) => page.getByRole("dialog", { name: "Your session has ended" });
