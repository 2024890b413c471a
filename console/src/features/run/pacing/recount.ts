/** While work is done again and again it takes at most this share of the time. */
const share = 1 / 8;

/** Does a long piece of work anew when it is wanted, soon, but never twice at once and not more often than is good for the page. */
export class Recount {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = 0;
  #control: AbortController | undefined;
  #again: number | undefined;
  #ended = Number.NEGATIVE_INFINITY;
  #took = 0;

  constructor(readonly work: (signal: AbortSignal) => Promise<void>) {}

  /** Asks for it. It is done when at least this long has passed since the last time, in milliseconds; 0 is at once. */
  want(pause: number): void {
    if (this.#control) {
      this.#again = Math.min(pause, this.#again ?? pause);
      return;
    }
    const now = performance.now();
    const due = pause === 0 ? now : Math.max(now, this.#ended + Math.max(pause, this.#took / share));
    if (this.#timer !== undefined) {
      if (due >= this.#due) return;
      clearTimeout(this.#timer);
    }
    this.#due = due;
    this.#timer = setTimeout(() => void this.#run(), due - now);
  }

  /** Gives up what is under way and what was wanted. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#again = undefined;
    this.#control?.abort();
    this.#control = undefined;
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    const control = new AbortController();
    this.#control = control;
    const began = performance.now();
    await this.work(control.signal);
    if (this.#control !== control) return;
    this.#control = undefined;
    this.#ended = performance.now();
    this.#took = this.#ended - began;
    const again = this.#again;
    this.#again = undefined;
    if (again !== undefined) this.want(again);
  }
}
