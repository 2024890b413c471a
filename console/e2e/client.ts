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

/**
 * Runs a command line in a shell, as people do who have the SDK and have told it where the server is. They answer what they are asked.
 * The folder is their home as well.
 */
export async function shell(folder: string, line: string, answer = ""): Promise<Said> {
  // Without a terminal of its own a program asks for a password on its standard input.
  const running = promisify(execFile)("setsid", ["--wait", "bash", "-euc", line], {
    cwd: folder,
    env: { ...process.env, HOME: folder, PATH: `${join(pythonEnvironment, "bin")}:${process.env["PATH"] ?? ""}`, FLYTE_DISABLE_SENTRY: "1", NO_COLOR: "1", TERM: "dumb", COLUMNS: "400" },
    timeout: 240_000,
    maxBuffer: 16 << 20,
  });
  running.child.stdin?.end(answer);
  try {
    return await running;
  } catch (error) {
    const { code, signal, stdout, stderr } = error as Ended;
    const aborted = 128 + 6; // see above
    if (code === aborted) return { stdout, stderr };
    throw new Error(`${line}\nended with ${signal ?? code ?? "nothing said"}\n${stdout}\n${stderr}`, { cause: error });
  }
}
