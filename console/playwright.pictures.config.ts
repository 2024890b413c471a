import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** Pictures of every screen into screenshots/: make console-screenshots. */
export default defineConfig({ ...tests, testMatch: "pictures.ts", forbidOnly: false });
