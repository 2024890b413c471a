import { Code } from "@connectrpc/connect";
import { problemOf, type Problem } from "./problem";
import { pause } from "./renewed";
import { reportBroken, reportWhole } from "./connection";
import { signedInAgain } from "./session";

/** The reader of a stream. */
export interface Follower<T> {
  readonly open: (signal: AbortSignal) => AsyncIterable<T>;
  /** Takes a message. The next one is read when a promise that it returns is done. */
  readonly onMessage: (message: T) => void | Promise<void>;
  /** The stream is opened, possibly again, and repeats its messages: reset the state, or resume. */
  readonly onOpen?: () => void;
  /** The stream failed, and a retry will not help. */
  readonly onFailure: (problem: Problem) => void;
}

const firstPause = 250;
const longestPause = 5000;
/** A stream that is silent for this long, in milliseconds, may be dead and is reopened. Only a failure to reopen it counts as lost. */
const silence = 60_000;
/** A stream that ended without an error after less than this, in milliseconds, is reopened after the longer pause. */
const shortStream = 10_000;
const shortStreamPause = 5000;

/** A stream is reopened after these errors too: the server may be overloaded, or restarting behind a proxy. */
const mayHeal: ReadonlySet<Code> = new Set([Code.Unknown, Code.Internal, Code.ResourceExhausted, Code.Aborted]);

/**
 * Reads a stream until the signal aborts. It reconnects with backoff, and reports a lost connection meanwhile. After the session has
 * ended, it reconnects when the person has signed in again.
 */
export async function follow<T>(follower: Follower<T>, signal: AbortSignal): Promise<void> {
  const name = Symbol("stream");
  signal.addEventListener("abort", () => reportWhole(name), { once: true });
  let wait = firstPause;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const opened = Date.now();
    let silent = false;
    const stop = () => attempt.abort();
    const expire = () => {
      silent = true;
      stop();
    };
    signal.addEventListener("abort", stop, { once: true });
    let watchdog = setTimeout(expire, silence);
    try {
      follower.onOpen?.();
      for await (const message of follower.open(attempt.signal)) {
        clearTimeout(watchdog);
        watchdog = setTimeout(expire, silence);
        wait = firstPause;
        reportWhole(name);
        await follower.onMessage(message);
      }
      reportWhole(name);
      wait = Date.now() - opened < shortStream ? shortStreamPause : firstPause;
    } catch (error) {
      if (isAborted(signal)) return;
      if (wasSilent(silent)) continue;
      const problem = problemOf(error);
      if (problem.code === Code.Unauthenticated) {
        reportWhole(name);
        await signedInAgain(signal).catch(() => undefined); // canceled: the loop ends
        continue;
      }
      if (!problem.passing && !mayHeal.has(problem.code)) {
        follower.onFailure(problem);
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

// Functions, because the compiler narrows both values and does not see that they change meanwhile.
const isAborted = (signal: AbortSignal): boolean => signal.aborted;
const wasSilent = (silent: boolean): boolean => silent;
