import type { Browser, BrowserContext, LaunchOptions } from "@playwright/test";
import { installed } from "./browser";

/** Firefox makes processes ahead and asks its maker for news. Tests need neither. */
const quiet = {
  "dom.ipc.processCount": 1,
  "dom.max_script_run_time": 0, // on a busy machine a check of a page takes longer than the ten seconds after which Firefox ends a script
  "dom.ipc.processPrelaunch.enabled": false,
  "fission.webContentIsolationStrategy": 0,
  "messaging-system.rsexperimentloader.enabled": false,
  "nimbus.rollouts.enabled": false,
  "services.settings.server": "data:,#none",
};

/** How the system's own Firefox is started, which Playwright drives by WebDriver BiDi. FIREFOX names another one. None is ever downloaded. */
export function firefox(): LaunchOptions {
  const executablePath = process.env["FIREFOX"] ?? installed(["firefox-esr", "firefox"]);
  if (executablePath === undefined) throw new Error("no Firefox in PATH; on Debian: sudo apt-get install firefox-esr");
  return { channel: "moz-firefox", executablePath, timeout: 600_000, firefoxUserPrefs: { ...quiet, "ui.prefersReducedMotion": 1 } };
}

interface Session {
  send: (this: Session, method: string, params: unknown) => Promise<unknown>;
}

/**
 * Firefox 153, the release with long support, cannot pretend to prefer a color scheme, and Playwright asks each page for one. Here that
 * request does nothing: pages have the light theme, unless a test chooses the dark one in the console.
 */
export function withoutColorSchemes(browser: Browser): void {
  const { _connection: connection } = browser as unknown as { _connection: { toImpl(browser: Browser): { _browserSession: Session } } };
  // The prototype is that of the sessions of all pages.
  const sessions = Object.getPrototypeOf(connection.toImpl(browser)._browserSession) as Session;
  const { send } = sessions;
  sessions.send = function (method, params) {
    return method === "emulation.setMediaFeaturesOverride" ? Promise.resolve({}) : send.call(this, method, params);
  };
}

/**
 * Playwright fills fields of Firefox by setting their values on the page, where React counts a value that a script sets as known and
 * ignores the event. Here the text goes the way of typed text.
 */
export async function withTypedText(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const type = (text: string) => {
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else enters text as a person does
      document.execCommand("insertText", false, text);
    };
    Object.defineProperty(window, "__pw_bidiInsertText", { configurable: true, get: () => type, set: () => undefined });
  });
}
