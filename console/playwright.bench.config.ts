import { defineConfig } from "@playwright/test";
import { browser } from "./e2e/browser";

/** Figures of a large run: make console-bench. */
export default defineConfig({
  testDir: "e2e",
  testMatch: "bench.ts",
  workers: 1,
  expect: { timeout: 120_000 },
  reporter: [["line"]],
  outputDir: "test-results",
  use: { browserName: "chromium", viewport: { width: 1280, height: 800 }, launchOptions: browser() },
});
