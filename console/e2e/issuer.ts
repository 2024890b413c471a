import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { repository } from "./demo";

/** An identity provider: the example of zitadel/oidc, as a process. */
export class Issuer {
  private constructor(
    readonly url: string,
    private readonly process: ChildProcess,
  ) {}

  /** Its client and its user, as internal/test/issuertest has them. */
  static readonly client = { id: "flyte", secret: "secret of flyte" } as const;
  static readonly user = { name: "test-user2", password: "verysecure", subject: "id2", displayName: "Test User2" } as const;

  /** Starts a provider for the people of an installation. */
  static async start(installation: string): Promise<Issuer> {
    const process = spawn("go", ["run", "./tests/issuer", "-installation", installation], {
      cwd: repository,
      stdio: ["pipe", "pipe", "inherit"],
    });
    for await (const line of createInterface(process.stdout)) {
      if (line.startsWith("http://")) return new Issuer(line, process);
    }
    throw new Error(`the provider ended with ${process.exitCode}`);
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null) return;
    const gone = once(this.process, "exit");
    this.process.stdin?.end();
    await gone;
  }
}
