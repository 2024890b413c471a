import { Code } from "@connectrpc/connect";
import { problemOf, type Problem } from "./problem";
import { pause } from "./renewed";
import { reportBroken, reportWhole } from "./connection";

/** What a stream tells its reader. */
export interface Follower<T> {
  readonly open: (signal: AbortSignal) => AsyncIterable<T>;
  readonly take: (message: T) => void;
  /** A stream opens anew, and repeats what it has to: forget, or resume. */
  readonly begin?: () => void;
  /** It cannot be had, and trying again will not help. */
  readonly fail: (problem: Problem) => void;
}

const firstPause = 250;
const longestPause = 5000;
/** A stream that says nothing for so long may be dead, in milliseconds: it is opened anew. Only when that fails is it broken. */
const silence = 60_000;
/** The pause before a stream that ended well, and soon, is opened anew: there was not much to tell. */
const rest = 5000;
const soon = 10_000;

/** Reads a stream for ever: it heals by itself when the connection breaks, and says so meanwhile. Ends with the signal. */
export async function follow<T>(follower: Follower<T>, signal: AbortSignal): Promise<void> {
  const name = Symbol("stream");
  signal.addEventListener("abort", () => reportWhole(name), { once: true });
  let wait = firstPause;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const opened = Date.now();
    let silent = false;
    const stop = () => attempt.abort();
    const giveUp = () => {
      silent = true;
      stop();
    };
    signal.addEventListener("abort", stop, { once: true });
    let watchdog = setTimeout(giveUp, silence);
    try {
      follower.begin?.();
      for await (const message of follower.open(attempt.signal)) {
        clearTimeout(watchdog);
        watchdog = setTimeout(giveUp, silence);
        wait = firstPause;
        reportWhole(name);
        follower.take(message);
      }
      reportWhole(name);
      wait = Date.now() - opened < soon ? rest : firstPause;
    } catch (error) {
      if (isAborted(signal)) return;
      if (wasSilent(silent)) continue;
      const problem = problemOf(error);
      if (!problem.passing && problem.code !== Code.Unknown && problem.code !== Code.Internal) {
        follower.fail(problem);
        return;
      }
      reportBroken(name);
    } finally {
      clearTimeout(watchdog);
      signal.removeEventListener("abort", stop);
    }
    await pause(wait, signal);
    wait = Math.min(wait * 2, longestPause);
  }
}

// The compiler takes both for settled: it sees no assignment between.
const isAborted = (signal: AbortSignal): boolean => signal.aborted;
const wasSilent = (silent: boolean): boolean => silent;
