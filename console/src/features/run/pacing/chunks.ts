/** How long one step may block the page, in milliseconds: well below a frame. */
const slice = 5;

/** Runs work in steps and lets the page render in between. Returns undefined if the signal aborted it. */
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

/** Runs all steps synchronously. */
export function atOnce<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
