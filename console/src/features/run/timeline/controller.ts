import { WallClock } from "@/design/wall-clock";
import { none, type RunModel } from "@/features/run/model/run-model";
import { inChunks } from "@/features/run/pacing/chunks";
import { criticalPath, type CriticalPath, type Step } from "./critical-path";
import { densityOf, type Density } from "./density";
import { emptyOrder, orderOf, placeOf, placesInSight, rowAt, type Order } from "./order";
import { paintWhole } from "./overview";
import { indent, isRunLive, paint } from "./paint";
import { onThemeChange, paletteOf, prepare, type Palette } from "./palette";
import { around, lengthOf, moved, Scale, whole, within, zoomed, type Stretch } from "./scale";
import { coarseSegments, endOf, segmentsOf, type Segment } from "./segments";
import { Recount } from "@/features/run/pacing/recount";
import { relativeTicks, wallTicks } from "./ticks";
import { Transitions, type AskTransitions } from "./transitions";

/** The elements that the timeline draws on. */
export interface Stage {
  readonly scroller: HTMLElement;
  readonly spacer: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly overview: HTMLCanvasElement;
}

/** What the page shows around the canvas. It is a new object whenever something of it changed. */
export interface Shown {
  readonly rows: number;
  readonly path: CriticalPath | undefined;
  readonly live: boolean;
  /** Whether all of the time is in sight. */
  readonly all: boolean;
  /** The row of the keyboard. */
  readonly cursor: number;
  readonly order: Order;
}

export const axisHeight = 40;
export const overviewHeight = 44;
const rowHeights = { roomy: 26, compact: 14 } as const;
export type Rows = keyof typeof rowHeights;

/** How often what takes a walk over all rows is done anew while the run changes, in milliseconds. */
const recount = 700;

/**
 * The timeline outside of React: it knows what is in sight, draws it in the next frame, and does what takes longer in
 * pieces beside. Nothing here asks the browser for a layout but when the size changes.
 */
export class Timeline {
  readonly transitions: Transitions;
  #stage: Stage | undefined;
  #palette: Palette | undefined;
  #width = 0;
  #height = 0;
  #scrolled = 0;
  #rowHeight: number = rowHeights.roomy;
  #stretch: Stretch | undefined; // undefined while all is in sight
  #order: Order = emptyOrder;
  #generation = -1;
  #density: Density | undefined;
  #densityWhole: Stretch = whole(1);
  #path: CriticalPath | undefined;
  #steps = new Map<number, Step[]>();
  #pathWanted = true;
  #visible: (row: number) => boolean = () => true;
  #collapsed = new Set<number>();
  #cursor = none;
  #hovered = none;
  #reveal = false;
  #clock = new WallClock(undefined);
  #frame = 0;
  #tick: ReturnType<typeof setTimeout> | undefined;
  readonly #counting = new Recount((signal) => this.#count(signal));
  #shown: Shown = { rows: 0, path: undefined, live: false, all: true, cursor: none, order: emptyOrder };
  readonly #listeners = new Set<() => void>();

  constructor(
    readonly model: RunModel,
    ask: AskTransitions,
  ) {
    this.transitions = new Transitions(model, ask, () => this.draw());
  }

  get shown(): Shown {
    return this.#shown;
  }
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Begins to draw; the returned function ends it. */
  attach(stage: Stage): () => void {
    this.#stage = stage;
    this.#palette = paletteOf(stage.scroller);
    const size = new ResizeObserver(() => this.#measure());
    size.observe(stage.scroller);
    const scroll = () => {
      this.#scrolled = stage.scroller.scrollTop;
      this.draw();
    };
    stage.scroller.addEventListener("scroll", scroll, { passive: true });
    const theme = onThemeChange(() => {
      this.#palette = paletteOf(stage.scroller);
      this.draw();
    });
    this.#measure();
    this.#counting.want(0);
    return () => {
      size.disconnect();
      stage.scroller.removeEventListener("scroll", scroll);
      theme();
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      clearTimeout(this.#tick);
      this.#counting.stop();
      this.transitions.stop();
      this.#stage = undefined;
    };
  }

  /** Says that the model or what is visible of it changed. */
  update(visible: (row: number) => boolean): void {
    const filtered = visible !== this.#visible;
    this.#visible = visible;
    if (!this.#stage) return;
    if (this.model.generation !== this.#generation) {
      this.#generation = this.model.generation; // the model began anew, so that rows mean something else
      this.#order = emptyOrder;
      this.#path = undefined;
      this.#steps = new Map();
      this.#collapsed = new Set();
    }
    this.#counting.want(filtered || this.#order.length === 0 ? 0 : recount);
    this.draw();
  }

  set zone(zone: string | undefined) {
    if (zone !== this.#clock.zone) this.#clock = new WallClock(zone);
    this.draw();
  }

  set rows(rows: Rows) {
    const place = (this.#scrolled + (this.#height - axisHeight) / 2) / this.#rowHeight;
    this.#rowHeight = rowHeights[rows];
    this.#resizeSpacer();
    this.#scrollTo(place * this.#rowHeight - (this.#height - axisHeight) / 2);
    this.draw();
  }

  set pathWanted(wanted: boolean) {
    this.#pathWanted = wanted;
    this.draw();
  }

  /** Puts the cursor on a row, and the row into sight. */
  select(row: number): void {
    if (row === this.#cursor) return;
    this.#cursor = row;
    this.#reveal = true;
    for (let up = row === none ? none : this.model.parent(row); up !== none; up = this.model.parent(up)) {
      if (this.#collapsed.has(up)) this.toggle(up);
    }
    this.draw();
    this.#publish();
  }

  /** The row so many places further on. */
  neighbour(by: number): number {
    const place = placeOf(this.#order, this.#cursor);
    return rowAt(this.#order, Math.min(this.#order.length - 1, Math.max(0, place === none ? 0 : place + by)));
  }

  get rowsOnPage(): number {
    return Math.max(1, Math.floor((this.#height - axisHeight) / this.#rowHeight) - 1);
  }

  hover(row: number): void {
    if (row === this.#hovered) return;
    this.#hovered = row;
    this.draw();
  }

  /** What is at a point of the scroller: the row, the moment, and whether it is the sign that opens and closes it. */
  at(x: number, y: number): { readonly row: number; readonly ms: number; readonly fold: boolean; readonly title: boolean } {
    const place = y < axisHeight ? none : Math.floor((y - axisHeight + this.#scrolled) / this.#rowHeight);
    const row = rowAt(this.#order, place);
    const begin = 8 + Math.min((this.#order.depths[place] ?? 0) * indent, this.#gutter * 0.4);
    const fold = row !== none && this.#rowHeight > 16 && x >= begin - 6 && x <= begin + 11 && this.model.childCount(row) > 0;
    return { row, ms: this.#scale().ms(x), fold, title: x < this.#gutter };
  }

  toggle(row: number): void {
    if (this.model.childCount(row) === 0) return;
    if (!this.#collapsed.delete(row)) this.#collapsed.add(row);
    this.#collapsed = new Set(this.#collapsed);
    if (this.#stage) this.#counting.want(0);
  }

  /** Looks closer, or from further away; x is what stays in place, the middle when unset. */
  zoom(factor: number, x = this.#gutter + (this.#width - this.#gutter) / 2): void {
    const limits = this.limits;
    this.#look(zoomed(this.stretch, factor, this.#scale().ms(Math.max(x, this.#gutter)), limits));
  }

  /** Moves through time by pixels. */
  pan(pixels: number): void {
    this.#look(moved(this.stretch, (pixels * lengthOf(this.stretch)) / Math.max(1, this.#width - this.#gutter), this.limits));
  }

  scrollBy(pixels: number): void {
    this.#scrollTo(this.#scrolled + pixels);
  }

  fit(): void {
    this.#stretch = undefined;
    this.draw();
    this.#publish();
  }

  zoomTo(row: number): void {
    if (row === none) return;
    this.#look(around({ from: this.model.created(row), to: endOf(this.model, row, this.model.now) }, this.limits));
  }

  /** Shows the time around a point of the overview. */
  lookAt(x: number): void {
    const at = new Scale(this.limits, 0, this.#width).ms(x);
    const half = lengthOf(this.stretch) / 2;
    this.#look(within({ from: at - half, to: at + half }, this.limits));
  }

  /** What is in sight. */
  get stretch(): Stretch {
    return this.#stretch ?? this.limits;
  }

  get limits(): Stretch {
    const { model } = this;
    if (model.size === 0) return whole(1);
    return whole(Math.max(this.#lastEnd, endOf(model, 0, model.now)));
  }
  #lastEnd = 0;

  segments(row: number): readonly Segment[] {
    const changes = this.transitions.get(row);
    const now = this.model.now;
    return changes ? segmentsOf(this.model, row, changes, now) : coarseSegments(this.model, row, now);
  }

  /** Draws in the next frame. */
  draw(): void {
    if (!this.#stage) return;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  get #gutter(): number {
    return Math.round(Math.min(300, Math.max(110, this.#width * 0.27)));
  }

  #scale(): Scale {
    return new Scale(this.stretch, this.#gutter, Math.max(1, this.#width - this.#gutter));
  }

  #look(stretch: Stretch): void {
    const limits = this.limits;
    this.#stretch = lengthOf(stretch) >= lengthOf(limits) * 0.999 ? undefined : stretch;
    this.draw();
    this.#publish();
  }

  #measure(): void {
    const stage = this.#stage;
    if (!stage) return;
    this.#width = stage.scroller.clientWidth;
    this.#height = stage.scroller.clientHeight;
    this.#resizeSpacer();
    if (this.#stage) this.#counting.want(0); // the overview's stretches have another width
    this.#draw(); // at once: a canvas that is resized is empty
  }

  #resizeSpacer(): void {
    if (this.#stage) this.#stage.spacer.style.height = `${Math.max(this.#height, axisHeight + this.#order.length * this.#rowHeight)}px`;
  }

  #scrollTo(top: number): void {
    if (!this.#stage) return;
    const most = Math.max(0, axisHeight + this.#order.length * this.#rowHeight - this.#height);
    this.#scrolled = Math.min(most, Math.max(0, top));
    this.#stage.scroller.scrollTop = this.#scrolled;
    this.draw();
  }

  /** Walks over all rows. */
  async #count(signal: AbortSignal): Promise<void> {
    const order = await inChunks(orderOf(this.model, this.#visible, this.#collapsed), signal);
    if (!order) return;
    this.#keepPlace(order);
    this.draw();
    this.#publish();
    this.#lastEnd = lastEnd(this.model, order);
    const limits = this.limits;
    const density = await inChunks(densityOf(this.model, limits, Math.max(1, Math.round(this.#width)), this.model.now), signal);
    if (!density) return;
    this.#density = density;
    this.#densityWhole = limits;
    const path = this.model.complete ? criticalPath(this.model) : undefined;
    this.#path = path;
    this.#steps = new Map();
    for (const step of path?.steps ?? []) {
      const steps = this.#steps.get(step.row);
      if (steps) steps.push(step);
      else this.#steps.set(step.row, [step]);
    }
    this.draw();
    this.#publish();
  }

  /** Takes a new order, so that the row on top of the sight stays there. */
  #keepPlace(order: Order): void {
    const top = Math.floor(this.#scrolled / this.#rowHeight);
    const row = rowAt(this.#order, top);
    this.#order = order;
    this.#resizeSpacer();
    const place = placeOf(order, row);
    if (this.#scrolled > 0 && place !== none && place !== top) this.#scrollTo(this.#scrolled + (place - top) * this.#rowHeight);
  }

  #draw(): void {
    const [stage, palette, order, model] = [this.#stage, this.#palette, this.#order, this.model];
    if (!stage || !palette || this.#width === 0) return;
    if (this.#reveal) this.#revealCursor();
    const now = model.now;
    const live = isRunLive(model);
    const places = placesInSight(this.#scrolled, this.#height - axisHeight, this.#rowHeight, order.length);
    const scale = this.#scale();
    const wanted = (this.#width - this.#gutter) / 90;
    const ctx = prepare(stage.canvas, this.#width, this.#height);
    if (ctx) {
      paint(ctx, {
        model,
        order,
        scale,
        palette,
        width: this.#width,
        height: this.#height,
        gutter: this.#gutter,
        axis: axisHeight,
        rowHeight: this.#rowHeight,
        scrolled: this.#scrolled,
        places,
        now,
        live,
        selected: this.#cursor,
        hovered: this.#hovered,
        collapsed: this.#collapsed,
        segments: (row) => this.segments(row),
        path: this.#pathWanted ? this.#path : undefined,
        stepsOf: (row) => (this.#pathWanted ? this.#steps.get(row) : undefined),
        ticks: { relative: relativeTicks(this.stretch, wanted), wall: wallTicks(this.stretch, wanted, model.createdAt, this.#clock) },
      });
    }
    this.#drawOverview(stage, palette, now);
    this.transitions.want(Array.from(order.rows.subarray(places[0], places[1])));
    clearTimeout(this.#tick);
    // Bars of what is under way grow by a pixel at a time.
    if (live) this.#tick = setTimeout(() => this.draw(), Math.min(1000, Math.max(100, lengthOf(this.stretch) / this.#width)));
  }

  #drawOverview(stage: Stage, palette: Palette, now: number): void {
    const ctx = prepare(stage.overview, this.#width, overviewHeight);
    if (!ctx) return;
    const scale = new Scale(this.#density ? this.#densityWhole : this.limits, 0, this.#width);
    const sight: [number, number] = this.#stretch ? [scale.x(this.#stretch.from), scale.x(this.#stretch.to)] : [0, this.#width];
    paintWhole(ctx, { model: this.model, order: this.#order, density: this.#density, scale, palette, width: this.#width, height: overviewHeight, now, sight });
  }

  #revealCursor(): void {
    const place = placeOf(this.#order, this.#cursor);
    if (place === none) return; // it may come yet
    this.#reveal = false;
    const room = this.#height - axisHeight - this.#rowHeight;
    const y = place * this.#rowHeight;
    if (y < this.#scrolled) this.#scrollTo(y - Math.min(room / 3, this.#rowHeight * 2));
    else if (y > this.#scrolled + room) this.#scrollTo(y - room + Math.min(room / 3, this.#rowHeight * 2));
  }

  #publish(): void {
    const next: Shown = {
      rows: this.#order.length,
      path: this.#path,
      live: isRunLive(this.model),
      all: this.#stretch === undefined,
      cursor: this.#cursor,
      order: this.#order,
    };
    this.#shown = next;
    for (const listener of this.#listeners) listener();
  }
}

function lastEnd(model: RunModel, order: Order): number {
  let last = 0;
  for (const row of order.rows) last = Math.max(last, model.ended(row));
  return last;
}
