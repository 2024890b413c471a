import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

// The headless shell is the same browser without its windows, and needs a sixth less time.
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** How the system's own browser is started. CHROMIUM names another one. None is ever downloaded. */
export function browser(): { executablePath: string; args: string[] } {
  const executablePath = process.env["CHROMIUM"] ?? installed(names);
  if (executablePath === undefined) throw new Error("no Chromium in PATH: make setup installs it where it can");
  // A sandbox cannot be made by root, and containers have little shared memory.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return { executablePath, args: [...args, "--disable-dev-shm-usage"] };
}

/** The first of these programs that is in PATH. */
export function installed(programs: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.flatMap((folder) => programs.map((name) => join(folder, name))).find(runs);
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
