const second = 1000;
const quarter = 15 * 60 * second;
const day = 24 * 60 * 60 * second;

/** The clock on the wall in a time zone, by default the browser's. Moments are in milliseconds of the epoch. */
export class WallClock {
  readonly #fields: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();

  constructor(readonly zone: string | undefined) {
    this.#fields = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** How far it is ahead of UTC, in milliseconds. */
  offset(at: number): number {
    const since = Math.floor(at / quarter) * quarter; // no zone changes within
    const known = this.#offsets.get(since);
    if (known !== undefined) return known;
    const parts = new Map(this.#fields.formatToParts(since).map((part) => [part.type, Number(part.value)]));
    const field = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    const offset = Date.UTC(field("year"), field("month") - 1, field("day"), field("hour"), field("minute"), field("second")) - since;
    if (this.#offsets.size > 1000) this.#offsets.clear();
    this.#offsets.set(since, offset);
    return offset;
  }

  /** What it shows, as RFC 3339 without an offset, to the millisecond. */
  text(at: number): string {
    return new Date(at + this.offset(at)).toISOString().slice(0, -1);
  }

  /**
   * The moment at which it shows what a clock in UTC shows at `shown`. Of two it is the first; of none, for the clock is
   * put forward over it, the one as long after that. (The "compatible" rule of the language's Temporal proposal.)
   */
  moment(shown: number): number {
    const [before, after] = [shown - this.offset(shown - day), shown - this.offset(shown + day)];
    return before + this.offset(before) === shown || after + this.offset(after) !== shown ? before : after;
  }
}
