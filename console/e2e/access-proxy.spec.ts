import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test as base, type BrowserContext } from "@playwright/test";
import { Demo } from "./demo";
import { place } from "./test";

const header = "X-Signed-By-Proxy";
const issuer = "https://proxy.example.com";
const audience = "flyte";
const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** What the proxy says of a person, for a number of seconds. */
function token(subject: string, seconds: number, key = keys.privateKey): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, aud: audience, sub: subject, name: `${subject} of the proxy`, groups: ["bakers"], iat: now, exp: now + seconds };
  const text = `${encoded({ alg: "ES256", kid: "1", typ: "JWT" })}.${encoded(claims)}`;
  return `${text}.${sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

/** What the proxy adds to each request of a browser from now on. */
const say = (context: BrowserContext, value: string): Promise<void> => context.setExtraHTTPHeaders({ [header]: value });

interface Shared {
  /** One server behind a proxy that signs who calls. */
  readonly demo: Demo;
}

const test = base.extend<object, Shared>({
  demo: [
    async ({}, provide) => {
      const published = createServer((_, answer) => {
        answer.setHeader("Content-Type", "application/json");
        answer.end(JSON.stringify({ keys: [{ ...keys.publicKey.export({ format: "jwk" }), kid: "1", alg: "ES256", use: "sig" }] }));
      }).listen(0, "127.0.0.1");
      await once(published, "listening");
      const address = published.address();
      if (address === null || typeof address === "string") throw new Error("the keys have no port");
      const demo = await Demo.make([
        `access.proxy.token.header=${header}`,
        `access.proxy.token.issuer=${issuer}`,
        `access.proxy.token.audience=${audience}`,
        `access.proxy.token.keysURL=http://127.0.0.1:${address.port}/keys`,
        `access.bindings=${JSON.stringify([{ user: "olga", role: "operator" }, { group: "bakers", role: "contributor", project: "flytesnacks" }])}`,
      ]);
      try {
        await demo.start();
        await provide(demo);
      } finally {
        await demo.stop();
        published.close();
      }
    },
    { scope: "worker", timeout: 600_000 },
  ],
  baseURL: async ({ demo }, provide) => provide(demo.url),
});

test("a person whom the proxy knows needs no sign-in, and gets the page that was asked for", async ({ page, context }) => {
  await say(context, token("paul", 600));
  await page.goto(`${place}/runs?phases=failed`);
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  expect(page.url()).toMatch(/phases=failed|query=phase%3Afailed/);
  await page.getByRole("button", { name: "Account of paul of the proxy" }).click();
  const menu = page.getByRole("dialog", { name: "Account" });
  await expect(menu).toContainText("contributor in flytesnacks");
  await expect(menu).toContainText("bakers");
  await page.goto("/v2/me");
  await expect(page.getByTestId("limit-row").first()).toBeVisible();
  await expect(page.getByRole("heading", { name: "Change password" })).toHaveCount(0);
  await page.goto(`${place}/members`);
  await expect(page.getByText("You may not see the members here")).toBeVisible();
  await expect(page.getByTestId("ask-whom").first()).toContainText("olga (the whole installation)");
});

test("a browser without the word of the proxy, with that of another signer, or with an old one, gets the sign-in page", async ({ page, context }) => {
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  for (const value of ["", token("olga", 600, other), token("olga", -600)]) {
    await context.setExtraHTTPHeaders(value === "" ? {} : { [header]: value });
    await page.goto("/v2/keys");
    await page.waitForURL(/\/access\/sign-in\?return=/);
    await expect(page.getByRole("heading", { name: /Sign in/ })).toBeVisible();
  }
});

test("the word of the proxy ends while a form is open: the form is kept, and sent with the next one", async ({ page, context }) => {
  await say(context, token("paul", 600));
  await page.goto(`${place}/secrets`);
  await page.getByRole("button", { name: "Create secret" }).click();
  const form = page.getByRole("dialog", { name: "Create secret" });
  await form.getByLabel("Name").fill("kept-behind-the-proxy");
  await form.getByLabel("Value").fill("typed before the end");
  await context.setExtraHTTPHeaders({});
  await form.getByRole("button", { name: "Create" }).click();
  const ended = page.getByRole("dialog", { name: "Your session has ended" });
  await expect(ended).toBeVisible();
  await say(context, token("paul", 600));
  await ended.getByRole("button", { name: "Sign in" }).click();
  await expect(ended).toBeHidden();
  await expect(page.getByTestId("secret-row").filter({ hasText: "kept-behind-the-proxy" })).toBeVisible();
});

test("when the proxy vouches for another person, an open page does not go on as the first", async ({ page, context }) => {
  await say(context, token("paul", 600));
  await page.goto(`${place}/secrets`);
  await expect(page.getByRole("button", { name: "Create secret" })).toBeVisible();
  await context.setExtraHTTPHeaders({});
  await page.getByRole("combobox", { name: "Scope" }).selectOption({ index: 1 });
  await expect(page.getByRole("dialog", { name: "Your session has ended" })).toBeVisible();
  await say(context, token("olga", 600));
  await expect(page.getByRole("button", { name: "Account of olga of the proxy" })).toBeVisible(); // the page was loaded again
  await expect(page.getByRole("dialog")).toHaveCount(0);
});
