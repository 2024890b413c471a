import { defineConfig } from "@playwright/test";
import { firefox } from "./e2e/firefox";
import tests from "./playwright.config";

/** The main paths, which are tested in Firefox too. */
const files = ["compare", "data", "dialogs", "home", "inbox", "launch", "nowhere", "palette", "panel", "problems", "run", "runs", "shell", "tasks", "views"];

/** The same tests in Firefox: make console-firefox. */
export default defineConfig({
  ...tests,
  testMatch: files.map((name) => `${name}.spec.ts`),
  use: { ...tests.use, browserName: "firefox", launchOptions: firefox() },
});
