import { client } from "./client";

/** A run that is to be: a task of flows/shown.py and its inputs. */
export interface Wanted {
  readonly task:
    | "squares"
    | "failing"
    | "asking"
    | "long"
    | "talking"
    | "training"
    | "packing"
    | "drawing"
    | "growing"
    | "prying"
    | "hostile"
    | "reusing"
    | "churn"
    | "previewing";
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly queue?: string;
  /** Waits for its end. */
  readonly wait?: boolean;
}

/** Starts runs through the released SDK, in one process, and gives their names, after it deployed the tasks as these versions. */
export async function start(
  url: string,
  home: string,
  wanted: readonly Wanted[],
  deployed: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const { stdout, stderr } = await client(home, "python", ["start.py", new URL(url).host, JSON.stringify(wanted), ...deployed], env);
  const names: unknown = JSON.parse(stdout.trim().split("\n").at(-1) || "null");
  if (!Array.isArray(names) || names.length !== wanted.length) throw new Error(`the SDK said ${stdout}\n${stderr}`);
  return names.map(String);
}
