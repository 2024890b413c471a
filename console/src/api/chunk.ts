import { reportBroken, reportWhole } from "./connection";

const firstPause = 250;
const longestPause = 5000;
const reloadedAt = "flyte-console:reloaded";
/** A page that was reloaded less than this ago, in milliseconds, is not reloaded again: that would not help. */
const reloadOnce = 60_000;

/**
 * Loads a part of the console that is fetched when it is first needed. While the server cannot be reached, it retries with backoff
 * and reports a lost connection. If the server answers and the part still cannot be loaded, because the console was upgraded or the
 * browser remembers the failure, it reloads the page. It throws only when that did not help either.
 */
export async function chunk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    const name = Symbol("chunk");
    try {
      await answered(name);
      return await load();
    } catch (error) {
      if (!reload()) throw error;
      return await new Promise<never>(() => undefined); // the page goes away
    } finally {
      reportWhole(name);
    }
  }
}

/** Waits until the server answers. */
async function answered(name: symbol): Promise<void> {
  for (let wait = firstPause; !(await answers()); wait = Math.min(wait * 2, longestPause)) {
    reportBroken(name);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function answers(): Promise<boolean> {
  try {
    return (await fetch(import.meta.env.BASE_URL, { method: "HEAD", cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}

/** Reloads the page, unless it was reloaded just now, or the browser cannot remember that. */
function reload(): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(reloadedAt) ?? 0) < reloadOnce) return false;
    sessionStorage.setItem(reloadedAt, String(Date.now()));
  } catch {
    return false;
  }
  location.reload();
  return true;
}
