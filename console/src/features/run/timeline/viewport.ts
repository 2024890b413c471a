import { lengthOf, moved, Scale, withMargin, within, zoomed, type TimeRange } from "./scale";

export const axisHeight = 40;
const rowHeights = { roomy: 26, compact: 14 } as const;
export type Rows = keyof typeof rowHeights;

/** The visible part of the timeline: its size, the scroll position, the height of a row and the visible time. Lengths are in CSS pixels. */
export class Viewport {
  width = 0;
  height = 0;
  scrolled = 0;
  #rowHeight: number = rowHeights.roomy;
  #range: TimeRange | undefined; // undefined while all of the time is visible

  /** The limits are the full range of the run. */
  constructor(readonly limits: () => TimeRange) {}

  get rowHeight(): number {
    return this.#rowHeight;
  }

  /** The height without the axis. */
  get rowsHeight(): number {
    return this.height - axisHeight;
  }

  /** The number of rows that a page key moves by. */
  get rowsOnPage(): number {
    return Math.max(1, Math.floor(this.rowsHeight / this.#rowHeight) - 1);
  }

  /** The width of the titles on the left. */
  get gutter(): number {
    return Math.round(Math.min(300, Math.max(110, this.width * 0.27)));
  }

  /** The width of the bars. */
  get barsWidth(): number {
    return this.width - this.gutter;
  }

  get range(): TimeRange {
    return this.#range ?? this.limits();
  }

  get showsAll(): boolean {
    return this.#range === undefined;
  }

  get scale(): Scale {
    return new Scale(this.range, this.gutter, Math.max(1, this.barsWidth));
  }

  /** Sets the height of rows, and returns the scroll position that keeps the middle row in place. */
  setRows(rows: Rows): number {
    const place = (this.scrolled + this.rowsHeight / 2) / this.#rowHeight;
    this.#rowHeight = rowHeights[rows];
    return place * this.#rowHeight - this.rowsHeight / 2;
  }

  /** The height of the axis and all rows. */
  contentHeight(rows: number): number {
    return axisHeight + rows * this.#rowHeight;
  }

  /** Scrolls within the content. */
  scrollTo(top: number, rows: number): void {
    const max = Math.max(0, this.contentHeight(rows) - this.height);
    this.scrolled = Math.min(max, Math.max(0, top));
  }

  /** The scroll position that makes a row visible; undefined if it is visible already. */
  positionFor(place: number): number | undefined {
    const room = this.rowsHeight - this.#rowHeight;
    const margin = Math.min(room / 3, this.#rowHeight * 2);
    const y = place * this.#rowHeight;
    if (y < this.scrolled) return y - margin;
    return y > this.scrolled + room ? y - room + margin : undefined;
  }

  /** The place of the row at a height; -1 on the axis. */
  placeAt(y: number): number {
    return y < axisHeight ? -1 : Math.floor((y - axisHeight + this.scrolled) / this.#rowHeight);
  }

  show(range: TimeRange): void {
    this.#range = lengthOf(range) >= lengthOf(this.limits()) * 0.999 ? undefined : range;
  }

  showAll(): void {
    this.#range = undefined;
  }

  /** Zooms by a factor; the moment at x stays in place. */
  zoom(factor: number, x: number): void {
    this.show(zoomed(this.range, factor, this.scale.ms(Math.max(x, this.gutter)), this.limits()));
  }

  /** Moves through time by pixels. */
  pan(pixels: number): void {
    this.show(moved(this.range, (pixels * lengthOf(this.range)) / Math.max(1, this.barsWidth), this.limits()));
  }

  /** Zooms to a range, plus a margin. */
  zoomTo(range: TimeRange): void {
    this.show(withMargin(range, this.limits()));
  }

  /** Centers the visible time on a point of the overview. */
  centerOn(x: number): void {
    const at = new Scale(this.limits(), 0, this.width).ms(x);
    const half = lengthOf(this.range) / 2;
    this.show(within({ from: at - half, to: at + half }, this.limits()));
  }
}
