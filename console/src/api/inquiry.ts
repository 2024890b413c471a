import { problemOf, type Problem } from "@/api/problem";

/** A request to the server. */
export interface Question {
  readonly ask: (signal: AbortSignal) => Promise<void>;
  /** Called if this request is refused. Returns whether other requests may still succeed. */
  readonly refused: (problem: Problem) => boolean;
}

/** The backoff while the server is unreachable, in milliseconds. */
const pauses = [500, 1000, 2000, 5000, 10_000];

/**
 * Sends requests for visible rows one after the other while there are any. While the server is unreachable it retries with
 * backoff.
 */
export class Inquiry {
  #control = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #resting = false; // the timer runs although there is nothing to request yet
  #asking = false;
  #again = false; // requested while asking
  #refused = false;
  #failures = 0;

  constructor(
    /** The next request, or a delay in milliseconds, or undefined if there is nothing to request. */
    readonly next: () => Question | number | undefined,
    /** The delay before the first request, in milliseconds. */
    readonly debounce: number,
  ) {}

  /** Reports that there may be something to request. */
  want(): void {
    this.#again = this.#asking;
    if (this.#resting) this.#clear();
    this.#schedule(this.debounce);
  }

  /** Aborts the current request, and sends no more until the next call of want. */
  stop(): void {
    this.#clear();
    this.#again = false;
    this.#control.abort();
    this.#control = new AbortController();
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#resting = false;
  }

  #schedule(pause: number): void {
    if (this.#asking || this.#timer !== undefined || this.#refused) return;
    this.#timer = setTimeout(() => {
      this.#clear();
      const next = this.next();
      if (typeof next === "number") {
        this.#schedule(next);
        this.#resting = true;
      } else if (next) {
        void this.#send(next);
      }
    }, pause);
  }

  async #send({ ask, refused }: Question): Promise<void> {
    const { signal } = this.#control;
    let pause = this.debounce;
    this.#asking = true;
    try {
      await ask(signal);
      this.#failures = 0;
    } catch (error) {
      const problem = problemOf(error);
      if (problem.passing && !signal.aborted) pause = pauses[Math.min(this.#failures++, pauses.length - 1)] ?? pause;
      else if (!problem.passing) this.#refused = !refused(problem);
    }
    this.#asking = false;
    if (!signal.aborted || this.#again) this.#schedule(pause);
  }
}
