import { defineConfig } from "@playwright/test";
import { browser } from "./e2e/browser";

// One demo serves all tests, one after the other: the browser, the server and the tasks share few cores. Limits are wide, for
// machines are slow at times, and nothing waits for longer than it must.
export default defineConfig({
  testDir: "e2e",
  testMatch: "*.spec.ts",
  globalSetup: "./e2e/setup.ts",
  workers: 1,
  fullyParallel: false,
  forbidOnly: process.env["CI"] !== undefined,
  timeout: 180_000,
  globalTimeout: 25 * 60_000,
  expect: { timeout: 45_000 },
  reporter: [["list"]],
  outputDir: "test-results",
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    actionTimeout: 45_000,
    navigationTimeout: 60_000,
    screenshot: "only-on-failure",
    trace: "off",
    launchOptions: browser(),
  },
});
