/** The maximum share of time for repeated work. */
const share = 1 / 8;

/** Repeats a long piece of work on request, never concurrently, and limits its share of the time. */
export class Recount {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = 0;
  #control: AbortController | undefined;
  #again: number | undefined;
  #ended = Number.NEGATIVE_INFINITY;
  #took = 0;

  constructor(readonly work: (signal: AbortSignal) => Promise<void>) {}

  /** Requests a run, at least this long after the last one, in milliseconds; 0 means immediately. */
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

  /** Aborts the current run and cancels requests. */
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
    const startedAt = performance.now();
    await this.work(control.signal);
    if (this.#control !== control) return;
    this.#control = undefined;
    this.#ended = performance.now();
    this.#took = this.#ended - startedAt;
    const again = this.#again;
    this.#again = undefined;
    if (again !== undefined) this.want(again);
  }
}
