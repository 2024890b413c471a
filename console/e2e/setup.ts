import { Demo } from "./demo";
import { serve } from "./serve";
import { start } from "./start";

/** The runs that are there before the first test, by what they show. */
export const prepared = [
  { key: "squares", task: "squares", inputs: { n: 4 }, labels: { team: "kitchen" }, wait: true },
  { key: "failing", task: "failing", wait: true },
  { key: "talking", task: "talking", wait: true },
  { key: "drawing", task: "drawing", wait: true },
  { key: "training", task: "training", wait: true },
  { key: "reusing", task: "reusing", wait: true },
  { key: "previewing", task: "previewing", wait: true },
  { key: "asking", task: "asking" },
] as const;

/** As these the tasks of those runs are deployed, the latest last. */
export const versions = ["first", "second"];

/** The app that is there before the first test, with a replica; it uses the output of a run. */
export const preparedApp = "shown-app";

export type Prepared = Record<(typeof prepared)[number]["key"], string>;

/**
 * Starts the demo for all tests and prepares runs; what it returns stops the demo. CONSOLE_E2E_URL names a server that is there already,
 * CONSOLE_E2E one with its runs, as it is set below.
 */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env["CONSOLE_E2E"] !== undefined) return () => Promise.resolve();
  const demo = await Demo.make();
  const known = process.env["CONSOLE_E2E_URL"];
  try {
    if (known === undefined) await demo.start();
    const url = known ?? demo.url;
    const names = await start(url, demo.folder, prepared, versions);
    const runs = Object.fromEntries(prepared.map(({ key }, n) => [key, names[n]]));
    await serve(url, demo.folder, [{ name: preparedApp, min: 1, ...(runs["training"] !== undefined && { model: runs["training"] }) }]);
    process.env["CONSOLE_E2E"] = JSON.stringify({ url, home: demo.folder, runs });
  } catch (error) {
    await demo.stop();
    throw error;
  }
  return () => demo.stop();
}
