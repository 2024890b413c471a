/** How long a piece of work may hold up the page, in milliseconds: well below a frame. */
const slice = 5;

/** Does work in pieces, and lets the page draw in between. Gives undefined when the signal stopped it. */
export async function inChunks<T>(work: Generator<unknown, T>, signal: AbortSignal): Promise<T | undefined> {
  for (;;) {
    const until = performance.now() + slice;
    do {
      const step = work.next();
      if (step.done) return step.value;
    } while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve));
    if (signal.aborted) return undefined;
  }
}

/** Does all of it at once. */
export function atOnce<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
