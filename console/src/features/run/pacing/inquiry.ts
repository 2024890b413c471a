import { problemOf, type Problem } from "@/api/problem";

/** One question to the server. */
export interface Question {
  readonly ask: (signal: AbortSignal) => Promise<void>;
  /** Is told that this one will not be answered, and says whether others may be. */
  readonly refused: (problem: Problem) => boolean;
}

/** How long to wait between the tries while the server is away, in milliseconds. */
const pauses = [500, 1000, 2000, 5000, 10_000];

/**
 * Asks the server about what is in sight, one question after the other, for as long as there is something to ask. While
 * the server is away it tries again, more and more seldom.
 */
export class Inquiry {
  #control = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #resting = false; // with nothing to ask at this moment
  #asking = false;
  #again = false; // wanted while asking
  #refused = false;
  #failures = 0;

  constructor(
    /** What to ask now, after how many milliseconds to look again, or nothing until something is wanted. */
    readonly next: () => Question | number | undefined,
    /** How long something has to be wanted before it is asked for, in milliseconds. */
    readonly patience: number,
  ) {}

  /** Says that something else may be to be asked for. */
  want(): void {
    this.#again = this.#asking;
    if (this.#resting) this.#clear();
    this.#later(this.patience);
  }

  /** Gives up the question that is open, and asks no more until something is wanted again. */
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

  #later(pause: number): void {
    if (this.#asking || this.#timer !== undefined || this.#refused) return;
    this.#timer = setTimeout(() => {
      this.#clear();
      const next = this.next();
      if (typeof next === "number") {
        this.#later(next);
        this.#resting = true;
      } else if (next) {
        void this.#put(next);
      }
    }, pause);
  }

  async #put({ ask, refused }: Question): Promise<void> {
    const { signal } = this.#control;
    let pause = this.patience;
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
    if (!signal.aborted || this.#again) this.#later(pause);
  }
}
