import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Demo } from "./demo";
import { serve } from "./serve";
import { prepared, preparedApp, type Prepared, versions } from "./setup";
import { start } from "./start";

/** The people of `flyte-binary demo --access`. */
export type Person = "admin" | "contributor" | "viewer";

/** A demo in which people sign in, with the data of the other tests. */
export class Closed {
  private constructor(
    readonly demo: Demo,
    readonly runs: Prepared,
  ) {}

  static async start(): Promise<Closed> {
    const demo = await Demo.make([], ["--access"]);
    try {
      await demo.start();
      const admin = await Session.of(demo, "admin");
      const { secret } = (await admin.call("KeyService/CreateKey", { name: "data", roles: [{ role: "operator", scope: {} }] })) as { readonly secret: string };
      const authority = readdirSync(demo.data, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith("tls/authority.crt")) ?? "";
      const env = { E2E_API_KEY: secret, SSL_CERT_FILE: join(demo.data, authority) };
      const names = await start(demo.url, demo.folder, prepared, versions, env);
      const runs = Object.fromEntries(prepared.map(({ key }, n) => [key, names[n]])) as unknown as Prepared;
      await serve(demo.url, demo.folder, [{ name: preparedApp, min: 1 }], env);
      await serve(demo.url, demo.folder, [{ name: preparedApp, min: 1, env: { SECOND: "revision" } }], env);
      await admin.call("AccessService/PutRole", { role: { name: "starter", permissions: ["run.create"] } });
      return new Closed(demo, runs);
    } catch (error) {
      console.error(demo.log());
      await demo.stop();
      throw error;
    }
  }
}

/** The password of a person, as the demo has printed it. */
export function passwordOf(demo: Demo, name: Person): string {
  const found = new RegExp(`^ +${name} +password (\\w+)`, "m").exec(readFileSync(join(demo.folder, "demo.log"), "utf8"));
  if (!found?.[1]) throw new Error(`the demo printed no password of ${name}`);
  return found[1];
}

/** A person who has signed in, outside of a browser. */
export class Session {
  private constructor(
    private readonly url: string,
    private readonly cookie: string,
  ) {}

  static async of(demo: Demo, name: Person): Promise<Session> {
    const answer = await fetch(`${demo.url}/access/sign-in`, {
      method: "POST",
      body: new URLSearchParams({ name, password: passwordOf(demo, name) }),
      redirect: "manual",
    });
    const cookie = answer.headers.getSetCookie().map((one) => one.split(";")[0] ?? "").join("; ");
    if (answer.status !== 303 || cookie === "") throw new Error(`${name} cannot sign in: ${answer.status}`);
    return new Session(demo.url, cookie);
  }

  async call(procedure: string, body: unknown, of: "access" | "insight" = "access"): Promise<unknown> {
    const answer = await fetch(`${this.url}/flytebinary.${of}.v1.${procedure}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Cookie: this.cookie },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${procedure}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
}
