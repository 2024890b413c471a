/** Streams without heartbeats are reopened after this silence, in milliseconds, before it counts as a failure. */
export const renewal = 45_000;

/**
 * Reads a stream that has no heartbeats and that ends when its subject is terminal. After a silence it ends without an error, so
 * that the caller reopens it; after a terminal message it pauses first.
 */
export async function* renewed<M, T>(
  open: (signal: AbortSignal) => AsyncIterable<M>,
  content: (message: M) => T | undefined,
  ended: (last: T) => boolean,
  signal: AbortSignal,
): AsyncGenerator<T> {
  let last: T | undefined;
  const quiet = new AbortController();
  const stop = () => quiet.abort();
  signal.addEventListener("abort", stop, { once: true });
  let timer = setTimeout(stop, renewal);
  try {
    for await (const message of open(quiet.signal)) {
      clearTimeout(timer);
      timer = setTimeout(stop, renewal);
      const next = content(message);
      if (next === undefined) continue;
      last = next;
      yield next;
    }
  } catch (error) {
    if (signal.aborted || !quiet.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
  if (last !== undefined && ended(last)) await pause(renewal, signal);
}

/** Resolves after a time in milliseconds, or when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}
