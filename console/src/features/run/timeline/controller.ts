import { WallClock } from "@/design/wall-clock";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { Recount } from "@/features/run/pacing/recount";
import type { CriticalPath } from "./critical-path";
import { placeOf, placesInSight, rowAt, type Order } from "./order";
import { paintOverview } from "./overview";
import { indent, isRunLive, paint } from "./paint";
import { onThemeChange, paletteOf, prepare, type Palette } from "./palette";
import { lengthOf, Scale } from "./scale";
import { coarseSegments, endOf, segmentsOf, type Segment } from "./segments";
import { spentOf, type Spent } from "./spent";
import { Survey } from "./survey";
import { relativeTicks, wallTicks } from "./ticks";
import { Transitions, type AskTransitions } from "./transitions";
import { axisHeight, Viewport, type Rows } from "./viewport";

/** The elements that the timeline draws on. */
export interface Stage {
  readonly scroller: HTMLElement;
  readonly spacer: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly overview: HTMLCanvasElement;
}

/** What the page shows around the canvas. A new object for every change. */
export interface Shown {
  readonly rows: number;
  readonly path: CriticalPath | undefined;
  readonly live: boolean;
  /** Whether all of the time is visible. */
  readonly all: boolean;
  /** The row of the keyboard. */
  readonly cursor: number;
  readonly order: Order;
}

const overviewHeight = 44;

/** How often the survey is repeated while the run changes, in milliseconds. */
const surveyInterval = 700;

/**
 * The timeline outside React. It draws in the next frame, and leaves longer work to the survey, which runs in steps. Only a
 * change of size causes a layout of the page.
 */
export class Timeline {
  readonly transitions: Transitions;
  readonly #survey: Survey;
  readonly #viewport: Viewport;
  readonly #surveying = new Recount((signal) => this.#updateSurvey(signal));
  readonly #listeners = new Set<() => void>();
  #stage: Stage | undefined;
  #palette: Palette | undefined;
  #clock = new WallClock(undefined);
  #showsPath = true;
  #cursor = none;
  #hovered = none;
  #explained: readonly number[] = [];
  #revealsCursor = false;
  #frame = 0;
  #tick: ReturnType<typeof setTimeout> | undefined;
  #shown: Shown;

  constructor(
    readonly model: RunModel,
    ask: AskTransitions,
  ) {
    this.transitions = new Transitions(model, ask, () => this.#changed());
    this.#survey = new Survey(model);
    this.#viewport = new Viewport(() => this.#survey.limits);
    this.#shown = { rows: 0, path: undefined, live: false, all: true, cursor: none, order: this.#survey.order };
  }

  get shown(): Shown {
    return this.#shown;
  }
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Starts drawing; the returned function stops it. */
  attach(stage: Stage): () => void {
    this.#stage = stage;
    this.#palette = paletteOf(stage.scroller);
    const size = new ResizeObserver(() => this.#measure());
    size.observe(stage.scroller);
    const scroll = () => {
      this.#viewport.scrolled = stage.scroller.scrollTop;
      this.draw();
    };
    stage.scroller.addEventListener("scroll", scroll, { passive: true });
    const stopTheme = onThemeChange(() => {
      this.#palette = paletteOf(stage.scroller);
      this.draw();
    });
    this.#measure();
    this.#surveying.want(0);
    return () => {
      size.disconnect();
      stage.scroller.removeEventListener("scroll", scroll);
      stopTheme();
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      clearTimeout(this.#tick);
      this.#surveying.stop();
      this.transitions.stop();
      this.model.inputs.want("timeline", []);
      this.#stage = undefined;
    };
  }

  /** Reports that the model or its visible rows changed. */
  update(visible: (row: number) => boolean): void {
    const filtered = this.#survey.filter(visible);
    if (!this.#stage) return;
    this.#survey.followGeneration();
    this.#surveying.want(filtered || this.#survey.order.length === 0 ? 0 : surveyInterval);
    this.draw();
  }

  set zone(zone: string | undefined) {
    if (zone !== this.#clock.zone) this.#clock = new WallClock(zone);
    this.draw();
  }

  set rows(rows: Rows) {
    const top = this.#viewport.setRows(rows);
    this.#resizeSpacer();
    this.#scrollTo(top);
    this.draw();
  }

  set showsPath(shows: boolean) {
    this.#showsPath = shows;
    this.draw();
  }

  /** Puts the cursor on a row, and scrolls to it. */
  select(row: number): void {
    if (row === this.#cursor) return;
    this.#cursor = row;
    this.#revealsCursor = true;
    for (const ancestor of [...this.#survey.collapsedAncestors(row)]) this.toggle(ancestor);
    this.#changed();
  }

  /** The row a number of places after the cursor. */
  neighbour(by: number): number {
    const { order } = this.#survey;
    const place = placeOf(order, this.#cursor);
    return rowAt(order, Math.min(order.length - 1, Math.max(0, place === none ? 0 : place + by)));
  }

  get rowsOnPage(): number {
    return this.#viewport.rowsOnPage;
  }

  hover(row: number): void {
    if (row === this.#hovered) return;
    this.#hovered = row;
    this.draw();
  }

  /** The row at a point of the canvas, and whether the point is on its fold icon. */
  at(x: number, y: number): { readonly row: number; readonly fold: boolean } {
    const { order } = this.#survey;
    const { gutter, rowHeight } = this.#viewport;
    const place = this.#viewport.placeAt(y);
    const row = rowAt(order, place);
    const left = 8 + Math.min((order.depths[place] ?? 0) * indent, gutter * 0.4);
    const onIcon = rowHeight > 16 && x >= left - 6 && x <= left + 11;
    return { row, fold: row !== none && onIcon && this.model.childCount(row) > 0 };
  }

  toggle(row: number): void {
    if (this.model.childCount(row) === 0) return;
    this.#survey.toggle(row);
    if (this.#stage) this.#surveying.want(0);
  }

  /** Zooms by a factor; the moment at x stays in place, by default the middle. */
  zoom(factor: number, x = this.#viewport.gutter + this.#viewport.barsWidth / 2): void {
    this.#viewport.zoom(factor, x);
    this.#changed();
  }

  /** Moves through time by pixels. */
  pan(pixels: number): void {
    this.#viewport.pan(pixels);
    this.#changed();
  }

  scrollBy(pixels: number): void {
    this.#scrollTo(this.#viewport.scrolled + pixels);
  }

  fit(): void {
    this.#viewport.showAll();
    this.#changed();
  }

  zoomTo(row: number): void {
    if (row === none) return;
    this.#viewport.zoomTo({ from: this.model.created(row), to: endOf(this.model, row, this.model.now) });
    this.#changed();
  }

  /** Centers the visible time on a point of the overview. */
  centerOn(x: number): void {
    this.#viewport.centerOn(x);
    this.#changed();
  }

  segments(row: number): readonly Segment[] {
    const changes = this.transitions.get(row);
    const now = this.model.now;
    return changes ? segmentsOf(this.model, row, changes, now) : coarseSegments(this.model, row, now);
  }

  /** What an action did during its part of the critical path. */
  spent(row: number): Spent {
    return spentOf(this.#survey.stepsOf(row) ?? [], this.segments(row));
  }

  /** Sets the rows whose time the page explains, wherever they are. */
  explain(rows: readonly number[]): void {
    this.#explained = rows;
    this.draw();
  }

  /** Draws in the next frame. */
  draw(): void {
    if (!this.#stage) return;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #changed(): void {
    this.draw();
    this.#publish();
  }

  #measure(): void {
    const stage = this.#stage;
    if (!stage) return;
    this.#viewport.width = stage.scroller.clientWidth;
    this.#viewport.height = stage.scroller.clientHeight;
    this.#resizeSpacer();
    this.#surveying.want(0); // the density depends on the width
    this.#draw(); // immediately: a resized canvas is empty
  }

  #resizeSpacer(): void {
    const { height } = this.#viewport;
    if (this.#stage) this.#stage.spacer.style.height = `${Math.max(height, this.#viewport.contentHeight(this.#survey.order.length))}px`;
  }

  #scrollTo(top: number): void {
    if (!this.#stage) return;
    this.#viewport.scrollTo(top, this.#survey.order.length);
    this.#stage.scroller.scrollTop = this.#viewport.scrolled;
    this.draw();
  }

  async #updateSurvey(signal: AbortSignal): Promise<void> {
    await this.#survey.update(
      this.#viewport.width,
      signal,
      (before) => {
        this.#keepTopRow(before);
        this.#changed();
      },
      () => this.#changed(),
    );
  }

  /** Scrolls so that the top row stays in place in a new order. */
  #keepTopRow(before: Order): void {
    const { scrolled, rowHeight } = this.#viewport;
    const top = Math.floor(scrolled / rowHeight);
    const place = placeOf(this.#survey.order, rowAt(before, top));
    this.#resizeSpacer();
    if (scrolled > 0 && place !== none && place !== top) this.#scrollTo(scrolled + (place - top) * rowHeight);
  }

  #draw(): void {
    const [stage, palette, model, survey, viewport] = [this.#stage, this.#palette, this.model, this.#survey, this.#viewport];
    if (!stage || !palette || viewport.width === 0) return;
    if (this.#revealsCursor) this.#revealCursor();
    const now = model.now;
    const live = isRunLive(model);
    const { order } = survey;
    const { width, height, gutter, rowHeight, scrolled, scale, range } = viewport;
    const places = placesInSight(scrolled, viewport.rowsHeight, rowHeight, order.length);
    const ticks = viewport.barsWidth / 90;
    const ctx = prepare(stage.canvas, width, height);
    if (ctx) {
      paint(ctx, {
        model,
        order,
        scale,
        palette,
        width,
        height,
        gutter,
        axis: axisHeight,
        rowHeight,
        scrolled,
        places,
        now,
        live,
        selected: this.#cursor,
        hovered: this.#hovered,
        collapsed: survey.collapsed,
        segments: (row) => this.segments(row),
        path: this.#showsPath ? survey.path : undefined,
        stepsOf: (row) => (this.#showsPath ? survey.stepsOf(row) : undefined),
        ticks: { relative: relativeTicks(range, ticks), wall: wallTicks(range, ticks, model.createdAt, this.#clock) },
      });
    }
    this.#drawOverview(stage, palette, now);
    const visible = Array.from(order.rows.subarray(places[0], places[1]));
    this.transitions.want([...visible, ...this.#explained]);
    this.model.inputs.want("timeline", visible);
    clearTimeout(this.#tick);
    // Bars of active actions grow by one pixel at a time.
    if (live) this.#tick = setTimeout(() => this.draw(), Math.min(1000, Math.max(100, lengthOf(range) / width)));
  }

  #drawOverview(stage: Stage, palette: Palette, now: number): void {
    const { width, showsAll, range } = this.#viewport;
    const ctx = prepare(stage.overview, width, overviewHeight);
    if (!ctx) return;
    const { order, density, overviewRange } = this.#survey;
    const scale = new Scale(overviewRange, 0, width);
    const visible: [number, number] = showsAll ? [0, width] : [scale.x(range.from), scale.x(range.to)];
    paintOverview(ctx, { model: this.model, order, density, scale, palette, width, height: overviewHeight, now, visible });
  }

  #revealCursor(): void {
    const place = placeOf(this.#survey.order, this.#cursor);
    if (place === none) return; // it may be added later
    this.#revealsCursor = false;
    const top = this.#viewport.positionFor(place);
    if (top !== undefined) this.#scrollTo(top);
  }

  #publish(): void {
    const { order, path } = this.#survey;
    this.#shown = { rows: order.length, path, live: isRunLive(this.model), all: this.#viewport.showsAll, cursor: this.#cursor, order };
    for (const listener of this.#listeners) listener();
  }
}
