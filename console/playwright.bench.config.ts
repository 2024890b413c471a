import { defineConfig } from "@playwright/test";
import { browser } from "./e2e/browser";

/** Figures of a large run, and of the way between pages: make console-bench. */
export default defineConfig({
  testDir: "e2e",
  testMatch: ["bench.ts", "bench-pages.ts"],
  workers: 1,
  expect: { timeout: 120_000 },
  reporter: [["line"]],
  outputDir: "test-results",
  use: { browserName: "chromium", viewport: { width: 1280, height: 800 }, launchOptions: browser() },
});
