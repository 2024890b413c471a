/** How long messages of a stream may block the page, in milliseconds. */
const slice = 100;
/** A page in the background draws no frames; it waits no longer than this, in milliseconds. */
const longest = 100;

/**
 * Lets the page draw while many messages arrive. Otherwise those that have arrived are taken one after the other, and the first
 * actions are visible only when nearly all are there.
 */
export class Pace {
  #drawn = false;
  #since = performance.now();

  /** Waits, if the page should draw before the next message: once when there is something to draw, and then after each slice. */
  async next(something: boolean): Promise<void> {
    if (something && !this.#drawn) {
      this.#drawn = true;
      await frame();
    } else if (performance.now() - this.#since < slice) {
      return;
    }
    await task();
    this.#since = performance.now();
  }
}

/** Waits for the frame in which listeners of the model draw it. */
function frame(): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, longest);
    // Listeners have set a timer of their own before this one.
    setTimeout(() =>
      requestAnimationFrame(() => {
        clearTimeout(late);
        resolve();
      }),
    );
  });
}

/** Waits until the browser has done what was due, such as drawing. Timers of 0 ms would come later than that. */
function task(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
