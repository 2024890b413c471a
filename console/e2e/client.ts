import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { pythonEnvironment } from "./demo";

/** What a command of the client said. */
export interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

interface Ended extends Said {
  readonly code?: number | string | null;
  readonly signal?: string | null;
}

/**
 * Runs a program of the environment that has the released SDK, in flows/, and gives what it said. The home is the SDK's: it remembers
 * there what it uploaded. The environment is in addition to that of this process.
 */
export async function client(home: string, program: "python" | "flyte", words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Said> {
  try {
    return await promisify(execFile)(join(pythonEnvironment, "bin", program), words, {
      cwd: join(import.meta.dirname, "flows"),
      env: { ...process.env, HOME: home, FLYTE_DISABLE_SENTRY: "1", NO_COLOR: "1", TERM: "dumb", COLUMNS: "400", ...env },
      timeout: 240_000,
      maxBuffer: 16 << 20,
    });
  } catch (error) {
    const { code, signal, stdout, stderr } = error as Ended;
    // The client's HTTP library has threads of its own, which now and then abort the process while the interpreter ends: after all is
    // done and said. What it printed is what counts.
    if (signal === "SIGABRT") return { stdout, stderr };
    throw new Error(`${program} ${words.join(" ")} ended with ${signal ?? code ?? "nothing said"}\n${stdout}\n${stderr}`, { cause: error });
  }
}
