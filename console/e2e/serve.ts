import { client } from "./client";
import { freePort } from "./demo";

/** An app that is to be. */
export interface WantedApp {
  readonly name: string;
  /** What it runs; a small web server if undefined. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A run that returned a file, which is an input of the app. */
  readonly model?: string;
  /** The least number of replicas. */
  readonly min?: number;
  /** Waits until it is active; true if undefined. */
  readonly wait?: boolean;
}

/** Deploys apps through the released SDK, in one process. Replicas share the network of the demo, so each app has a port of its own. */
export async function serve(url: string, home: string, apps: readonly WantedApp[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const wanted = [];
  for (const app of apps) {
    const port = await freePort();
    wanted.push({ wait: true, command: ["python", "-u", "-m", "http.server", "--bind", "127.0.0.1", String(port)], ...app, port });
  }
  await client(home, "python", ["serve.py", new URL(url).host, JSON.stringify(wanted)], env);
}
