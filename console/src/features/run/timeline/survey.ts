import { none, type RunModel } from "@/entities/run/model/run-model";
import { inChunks } from "@/features/run/pacing/chunks";
import { criticalPath, type CriticalPath, type Step } from "./critical-path";
import { densityOf, type Density } from "./density";
import { emptyOrder, orderOf, type Order } from "./order";
import { fullRange, type TimeRange } from "./scale";
import { endOf } from "./segments";

/** What is derived from all rows of a run: their order, the density of the overview and the critical path. */
export class Survey {
  #order: Order = emptyOrder;
  #density: Density | undefined;
  #densityRange: TimeRange = fullRange(1);
  #path: CriticalPath | undefined;
  #steps = new Map<number, Step[]>();
  #visible: (row: number) => boolean = () => true;
  #collapsed: ReadonlySet<number> = new Set();
  #generation = -1;
  #lastEnd = 0;

  constructor(readonly model: RunModel) {}

  get order(): Order {
    return this.#order;
  }
  get path(): CriticalPath | undefined {
    return this.#path;
  }
  get density(): Density | undefined {
    return this.#density;
  }
  /** The time that the overview shows: that of the density, once there is one. */
  get overviewRange(): TimeRange {
    return this.#density ? this.#densityRange : this.limits;
  }
  get collapsed(): ReadonlySet<number> {
    return this.#collapsed;
  }

  /** The steps of the critical path on a row. */
  stepsOf(row: number): readonly Step[] | undefined {
    return this.#steps.get(row);
  }

  /** The full range of the run. */
  get limits(): TimeRange {
    const { model } = this;
    return model.size === 0 ? fullRange(1) : fullRange(Math.max(this.#lastEnd, endOf(model, 0, model.now)));
  }

  /** Sets which rows are visible. Returns whether that changed. */
  filter(visible: (row: number) => boolean): boolean {
    const changed = visible !== this.#visible;
    this.#visible = visible;
    return changed;
  }

  /** Resets everything if the model was reset, so that its rows are different actions. */
  followGeneration(): void {
    if (this.model.generation === this.#generation) return;
    this.#generation = this.model.generation;
    this.#order = emptyOrder;
    this.#path = undefined;
    this.#steps = new Map();
    this.#collapsed = new Set();
  }

  /** Collapses or expands a row. */
  toggle(row: number): void {
    const collapsed = new Set(this.#collapsed);
    if (!collapsed.delete(row)) collapsed.add(row);
    this.#collapsed = collapsed;
  }

  /**
   * Walks over all rows in steps. Reports the new order as soon as it is known, with the previous one, and the rest at the end.
   * The width is that of the overview, in pixels.
   */
  async update(width: number, signal: AbortSignal, onOrder: (before: Order) => void, onDone: () => void): Promise<void> {
    const order = await inChunks(orderOf(this.model, this.#visible, this.#collapsed), signal);
    if (!order) return;
    const before = this.#order;
    this.#order = order;
    onOrder(before);
    this.#lastEnd = lastEnd(this.model, order);
    const range = this.limits;
    const density = await inChunks(densityOf(this.model, range, Math.max(1, Math.round(width)), this.model.now), signal);
    if (!density) return;
    this.#density = density;
    this.#densityRange = range;
    this.#path = this.model.complete ? criticalPath(this.model) : undefined;
    this.#steps = stepsByRow(this.#path);
    onDone();
  }

  /** The collapsed rows above a row. */
  *collapsedAncestors(row: number): Generator<number> {
    for (let up = row === none ? none : this.model.parent(row); up !== none; up = this.model.parent(up)) {
      if (this.#collapsed.has(up)) yield up;
    }
  }
}

function stepsByRow(path: CriticalPath | undefined): Map<number, Step[]> {
  const byRow = new Map<number, Step[]>();
  for (const step of path?.steps ?? []) {
    const steps = byRow.get(step.row);
    if (steps) steps.push(step);
    else byRow.set(step.row, [step]);
  }
  return byRow;
}

function lastEnd(model: RunModel, order: Order): number {
  let last = 0;
  for (const row of order.rows) last = Math.max(last, model.ended(row));
  return last;
}
