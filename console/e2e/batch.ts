import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, pythonEnvironment, repository } from "./demo";

/** The batch system of tests/e2e/flows/batch_connector.py: a directory of jobs, and the connector to it. */
export class Batch {
  private process: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
  ) {}

  static async make(folder: string): Promise<Batch> {
    mkdirSync(join(folder, "jobs"), { recursive: true });
    return new Batch(folder, await freePort());
  }

  /** What the server must know of it. */
  get endpoint(): string {
    return `connectors.endpoints=${JSON.stringify([{ name: "batch", url: this.url }])}`;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const log = openSync(join(this.folder, "connector.log"), "a");
    const words = ["--port", String(this.port), "--prometheus_port", String(await freePort()), "--modules", "batch_connector"];
    this.process = spawn(join(pythonEnvironment, "bin/c0"), words, {
      cwd: join(repository, "tests/e2e/flows"),
      env: { ...process.env, BATCH_JOBS: this.jobs, FLYTE_DISABLE_SENTRY: "1" },
      stdio: ["ignore", log, log],
    });
  }

  async stop(): Promise<void> {
    const process = this.process;
    this.process = undefined;
    if (!process || process.exitCode !== null || process.signalCode !== null) return;
    const gone = once(process, "exit");
    process.kill("SIGKILL");
    await gone;
  }

  private get jobs(): string {
    return join(this.folder, "jobs");
  }

  /** The job of the only action that has a word as its input; undefined until it is there. */
  jobOf(word: string): string | undefined {
    if (!existsSync(this.jobs)) return undefined;
    return readdirSync(this.jobs).find((name) => name !== "calls" && readFileSync(join(this.jobs, name), "utf8").includes(`"word": "${word}"`));
  }

  /** Ends the job of a word. */
  becomes(word: string, phase: string): void {
    const name = this.jobOf(word);
    if (name === undefined) throw new Error(`no job of ${word}`);
    const job = JSON.parse(readFileSync(join(this.jobs, name), "utf8")) as object;
    writeFileSync(join(this.folder, "next"), JSON.stringify({ ...job, phase }));
    renameSync(join(this.folder, "next"), join(this.jobs, name));
  }
}
