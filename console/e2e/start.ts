import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { pythonEnvironment } from "./demo";

/** A run that is to be: a task of flows/shown.py and its inputs. */
export interface Wanted {
  readonly task: "squares" | "failing" | "asking" | "long" | "talking" | "drawing" | "growing" | "prying";
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Waits for its end. */
  readonly wait?: boolean;
}

/**
 * Starts runs through the released SDK, in one process, and gives their names, after it deployed the tasks as these versions. The home is
 * the SDK's: it remembers there what it uploaded.
 */
export async function start(url: string, home: string, wanted: readonly Wanted[], deployed: readonly string[] = []): Promise<string[]> {
  const script = join(import.meta.dirname, "flows/start.py");
  const done = await promisify(execFile)(join(pythonEnvironment, "bin/python"), [script, new URL(url).host, JSON.stringify(wanted), ...deployed], {
    env: { ...process.env, HOME: home, FLYTE_DISABLE_SENTRY: "1", NO_COLOR: "1", TERM: "dumb" },
    timeout: 240_000,
    maxBuffer: 16 << 20,
  });
  const names: unknown = JSON.parse(done.stdout.trim().split("\n").at(-1) ?? "");
  if (!Array.isArray(names) || names.length !== wanted.length) throw new Error(`the SDK said ${done.stdout}\n${done.stderr}`);
  return names.map(String);
}
