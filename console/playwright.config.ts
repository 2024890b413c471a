import { defineConfig } from "@playwright/test";
import { browser } from "./e2e/browser";

// One demo serves all tests, two files of them at a time: a test waits for its tasks while that of the other file draws. So a test
// looks only at runs that it knows. Limits are wide, for machines are slow at times, and nothing waits for longer than it must.
export default defineConfig({
  testDir: "e2e",
  testMatch: "*.spec.ts",
  globalSetup: "./e2e/setup.ts",
  workers: 2,
  fullyParallel: false,
  forbidOnly: process.env["CI"] !== undefined,
  timeout: 400_000,
  globalTimeout: 60 * 60_000,
  expect: { timeout: 120_000 },
  reporter: [["list"]],
  outputDir: "test-results",
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    actionTimeout: 120_000,
    navigationTimeout: 120_000,
    screenshot: "only-on-failure",
    trace: "off",
    launchOptions: browser(),
  },
});
