import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export const repository = resolve(import.meta.dirname, "../..");

/** The Python environment that has the released SDK. Tasks run in it, too. */
export const pythonEnvironment = join(repository, ".cache/e2e-python");

const program = process.env["FLYTE_BINARY_DEMO"] ?? join(repository, "bin/flyte-binary");
const patience = 600_000;

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

/** A demo: its process, its data, its port. */
export class Demo {
  readonly folder: string;
  readonly url: string;
  private process: ChildProcess | undefined;

  private constructor(
    private readonly port: number,
    private settings: readonly string[],
    private readonly flags: readonly string[],
  ) {
    this.folder = mkdtempSync(join(tmpdir(), "flyte-console-"));
    chmodSync(this.folder, 0o711); // Postgres runs as another user when we are root
    this.url = `http://localhost:${port}`;
  }

  /** Settings are of the server's configuration, as key=value; flags of the command. */
  static async make(settings: readonly string[] = [], flags: readonly string[] = []): Promise<Demo> {
    return new Demo(await freePort(), settings, flags);
  }

  /** Adds settings before the start. */
  configure(...settings: readonly string[]): void {
    this.settings = [...this.settings, ...settings];
  }

  /** Where its data are. */
  get data(): string {
    return join(this.folder, "data");
  }

  /** Starts it on the data that are there, and waits until it is ready. */
  async start(): Promise<void> {
    const log = openSync(join(this.folder, "demo.log"), "a");
    const words = [
      "demo",
      "--data-dir",
      this.data,
      "--listen",
      `127.0.0.1:${this.port}`,
      "--python",
      pythonEnvironment,
      "--set",
      "runs.queues=ovens maxActions=2, bench maxActions=1",
      ...this.flags,
      ...this.settings.flatMap((setting) => ["--set", setting]),
    ];
    this.process = spawn(program, words, { stdio: ["ignore", log, log], detached: true });
    const end = Date.now() + patience;
    while (!(await this.ready())) {
      if (this.process.exitCode !== null || this.process.signalCode !== null) throw new Error(`the demo ended:\n${this.log()}`);
      if (Date.now() > end) throw new Error(`the demo does not become ready:\n${this.log()}`);
      await pause(200);
    }
  }

  private async ready(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/readyz`)).ok;
    } catch {
      return false;
    }
  }

  /** Kills the server as a crash would. Its children notice and go; its data stay. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Stops it as Ctrl-C does, and drops its data. */
  async stop(): Promise<void> {
    await this.end("SIGINT");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const process = this.process;
    this.process = undefined;
    if (!process || process.exitCode !== null || process.signalCode !== null) return;
    const gone = once(process, "exit");
    process.kill(signal);
    await gone;
  }

  /** The ends of what it printed and of its server's log. */
  log(): string {
    const files = [join(this.folder, "demo.log"), join(this.data, "logs", "server.log")];
    return files.map((file) => (existsSync(file) ? readFileSync(file, "utf8").slice(-6000) : `no ${file}`)).join("\n");
  }
}
