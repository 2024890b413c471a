import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { leanDescriptors } from "./lean-descriptors";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The server that `npm run dev` passes calls on to.
const server = process.env["FLYTE_SERVER"] ?? "http://localhost:8088";

/** The page is imported once its language is known. The browser loads it before: what waits is only its evaluation. */
const preloadPage: Plugin = {
  name: "preload-page",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle }) =>
      Object.values(bundle ?? {})
        .filter((chunk) => chunk.type === "chunk" && chunk.moduleIds.includes(here("src/page.tsx")))
        .map(({ fileName }) => ({ tag: "link", attrs: { rel: "modulepreload", crossorigin: true, href: `/v2/${fileName}` }, injectTo: "head" as const })),
  },
};

export default defineConfig({
  base: "/v2/",
  plugins: [leanDescriptors, react(), preloadPage],
  resolve: {
    alias: [
      { find: "@", replacement: here("src") },
      { find: "@gen", replacement: here("../gen/ts") },
      // The generated code is outside this package, where no node_modules is found.
      { find: /^@bufbuild\/protobuf$/, replacement: here("node_modules/@bufbuild/protobuf/dist/esm/index.js") },
      { find: /^@bufbuild\/protobuf\/(codegenv2|wkt|reflect|wire)$/, replacement: here("node_modules/@bufbuild/protobuf/dist/esm/$1/index.js") },
    ],
  },
  build: {
    target: "es2022",
    sourcemap: false,
    // One small file for all pages: a style that failed to load with its page would be missing until the browser reloads.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000, // the budget is on what is compressed; a test holds it
    // Nothing is put into pages as data: URLs but what the content security policy allows.
    assetsInlineLimit: 0,
  },
  worker: { format: "es" },
  server: { proxy: { "^/(flyte|google|blobs|access)": server } },
  test: {
    restoreMocks: true,
    testTimeout: 60_000, // machines are busy at times
    // Only what draws gets a document, and files that ask for one: making it cost more than the tests themselves.
    projects: [
      // One process runs all files of logic and loads their modules once: most of the time went into that.
      { extends: true, test: { name: "logic", environment: "node", poolOptions: { forks: { singleFork: true, isolate: false } }, include: ["src/**/*.test.ts"] } },
      { extends: true, test: { name: "pages", environment: "happy-dom", setupFiles: ["src/pages.setup.ts"], include: ["src/**/*.test.tsx"] } },
    ],
  },
});
