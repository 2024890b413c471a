import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { duration } from "@/design/format";
import { isFailure, isLive } from "@/design/phases";
import { nameOf } from "@/entities/action/identity";
import { none, type RunModel } from "@/entities/run/model/run-model";
import type { CriticalPath, Step } from "./critical-path";
import { drawLines, drawSign } from "./glyphs";
import { placeOf, rowAt, type Order } from "./order";
import type { Palette } from "./palette";
import type { Scale } from "./scale";
import { endOf, type Segment, type Stage } from "./segments";
import type { Tick } from "./ticks";

/** The data that the timeline is painted from. Lengths are in CSS pixels. */
export interface Scene {
  readonly model: RunModel;
  readonly order: Order;
  readonly scale: Scale;
  readonly palette: Palette;
  readonly width: number;
  readonly height: number;
  /** The width of the titles on the left. */
  readonly gutter: number;
  readonly axis: number;
  readonly rowHeight: number;
  readonly scrolled: number;
  /** The first visible place, and the one after the last. */
  readonly places: readonly [number, number];
  readonly now: number;
  readonly live: boolean;
  readonly selected: number;
  readonly hovered: number;
  readonly collapsed: ReadonlySet<number>;
  readonly segments: (row: number) => readonly Segment[];
  readonly path: CriticalPath | undefined;
  readonly stepsOf: (row: number) => readonly Step[] | undefined;
  readonly ticks: { readonly relative: readonly Tick[]; readonly wall: readonly Tick[] };
}

export const indent = 14;

/** The thickness of the bars as a share of the row. It differs by stage, so that stages do not differ by color alone. */
const thickness: Record<Stage, number> = { queued: 0.12, backoff: 0.12, waiting: 0.22, initializing: 0.38, running: 0.58, paused: 0.38 };

/** Draws the visible part. */
export function paint(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const { palette, width, height, gutter, axis, scale } = scene;
  ctx.fillStyle = palette.ground;
  ctx.fillRect(0, 0, width, height);
  clipped(ctx, 0, axis, width, height - axis, () => {
    paintStripes(ctx, scene);
  });
  clipped(ctx, gutter, axis, width - gutter, height - axis, () => {
    paintGrid(ctx, scene);
    eachPlace(scene, (row, y) => paintBars(ctx, scene, row, y));
    if (scene.path) paintJoints(ctx, scene, scene.path);
    if (scene.live) paintNow(ctx, scene);
  });
  clipped(ctx, 0, axis, gutter, height - axis, () => {
    eachPlace(scene, (row, y, place) => paintTitle(ctx, scene, row, y, place));
  });
  ctx.fillStyle = palette.line;
  ctx.fillRect(gutter - 1, 0, 1, height);
  clipped(ctx, gutter, 0, width - gutter, axis, () => paintAxis(ctx, scene));
  ctx.fillStyle = palette.lineStrong;
  ctx.fillRect(0, axis - 1, width, 1);
  if (scene.live) paintNowMark(ctx, scene, scale.x(scene.now));
}

function clipped(ctx: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, draw: () => void): void {
  if (width <= 0 || height <= 0) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  draw();
  ctx.restore();
}

const topOf = (scene: Scene, place: number): number => scene.axis + place * scene.rowHeight - scene.scrolled;

function eachPlace(scene: Scene, draw: (row: number, y: number, place: number) => void): void {
  const [first, last] = scene.places;
  for (let place = first; place < last; place++) {
    const row = rowAt(scene.order, place);
    if (row !== none) draw(row, topOf(scene, place), place);
  }
}

function paintStripes(ctx: CanvasRenderingContext2D, { palette, width, rowHeight, selected, hovered, ...scene }: Scene): void {
  eachPlace({ palette, width, rowHeight, selected, hovered, ...scene }, (row, y, place) => {
    const colour = row === selected ? palette.accentGround : row === hovered ? palette.ground3 : place % 2 === 1 ? palette.ground2 : undefined;
    if (!colour) return;
    ctx.fillStyle = colour;
    ctx.fillRect(0, y, width, rowHeight);
  });
}

function paintGrid(ctx: CanvasRenderingContext2D, { ticks, scale, palette, axis, height }: Scene): void {
  for (const tick of ticks.relative) {
    ctx.fillStyle = tick.strong ? palette.lineStrong : palette.line;
    ctx.fillRect(Math.round(scale.x(tick.at)), axis, 1, height - axis);
  }
}

function paintBars(ctx: CanvasRenderingContext2D, scene: Scene, row: number, y: number): void {
  const { palette, scale, rowHeight, gutter, width, model } = scene;
  const middle = y + rowHeight / 2;
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let attempts = 0;
  for (const segment of scene.segments(row)) {
    const x1 = scale.x(segment.from);
    const x2 = Math.max(scale.x(segment.to), x1 + 1.5);
    left = Math.min(left, x1);
    right = Math.max(right, x2);
    attempts = Math.max(attempts, segment.attempt);
    if (x2 < gutter || x1 > width) continue;
    const [from, to] = [Math.max(x1, gutter - 4), Math.min(x2, width + 4)];
    const thick = Math.max(2, thickness[segment.stage] * rowHeight);
    ctx.fillStyle = palette.phase(segment.drawnAs);
    if (segment.stage === "running" && to - from > 6 && rowHeight > 12) {
      ctx.beginPath();
      ctx.roundRect(from, middle - thick / 2, to - from, thick, 3);
      ctx.fill();
      if (isFailure(segment.drawnAs)) paintHatching(ctx, palette, from, to, middle, thick);
    } else if (segment.stage === "backoff") {
      for (let x = from; x < to; x += 6) ctx.fillRect(x, middle - thick / 2, Math.min(3, to - x), thick);
    } else {
      ctx.fillRect(from, middle - thick / 2, to - from, thick);
    }
    if (segment.stage === "running" && attempts > 1 && to - from > 18 && rowHeight > 16) {
      ctx.fillStyle = palette.ground;
      ctx.font = `600 ${Math.min(11, rowHeight * 0.42)}px ${palette.font}`;
      ctx.textBaseline = "middle";
      ctx.fillText(`×${segment.attempt}`, from + 4, middle + 0.5);
    }
  }
  paintSteps(ctx, scene, row, y);
  if (rowHeight > 12 && (right < gutter || left > width)) paintBeyond(ctx, scene, right, middle);
  if (rowHeight < 18 || right < gutter || right > width - 60) return;
  ctx.fillStyle = palette.text3;
  ctx.font = `11px ${palette.font}`;
  ctx.textBaseline = "middle";
  const took = endOf(model, row, scene.now) - (model.started(row) === none ? model.created(row) : model.started(row));
  ctx.fillText(model.cached(row) ? "cached" : duration(took), right + 6, middle + 0.5);
}

/** Hatches the bar of a failed attempt, so that it does not differ by color alone. The bar is the current path. */
function paintHatching(ctx: CanvasRenderingContext2D, palette: Palette, from: number, to: number, middle: number, thick: number): void {
  ctx.save();
  ctx.clip();
  ctx.strokeStyle = palette.ground;
  ctx.globalAlpha = 0.55;
  ctx.lineWidth = 1.2;
  ctx.beginPath();
  for (let x = Math.floor(from / 7) * 7; x < to + thick; x += 7) drawLines(ctx, x, middle, [0, -thick / 2, -thick, thick / 2]);
  ctx.stroke();
  ctx.restore();
}

/** Underlines the time in which the run waited for this action. */
function paintSteps(ctx: CanvasRenderingContext2D, { palette, scale, rowHeight, stepsOf }: Scene, row: number, y: number): void {
  ctx.fillStyle = palette.text;
  for (const step of stepsOf(row) ?? []) {
    const x = scale.x(step.from);
    ctx.fillRect(x, y + rowHeight - 3, Math.max(1.5, scale.x(step.to) - x), 2);
  }
}

/** With more visible joints than this, none are drawn: they would cover the rows. */
const maxJoints = 40;

/** Joins the steps of the critical path from row to row. */
function paintJoints(ctx: CanvasRenderingContext2D, scene: Scene, path: CriticalPath): void {
  const { order, scale, palette, rowHeight, places, gutter, width } = scene;
  const joints: { readonly x: number; readonly from: number; readonly to: number }[] = [];
  const first = firstAfter(path.steps, scale.range.from);
  for (let i = Math.max(1, first); i < path.steps.length; i++) {
    const [before, step] = [path.steps[i - 1], path.steps[i]];
    if (!before || !step || step.from > scale.range.to) break;
    const [a, b] = [placeOf(order, before.row), placeOf(order, step.row)];
    const [from, to] = [Math.min(a, b), Math.max(a, b)];
    if (from === none || from === to || to < places[0] || from > places[1]) continue;
    const x = Math.round(scale.x(step.from));
    if (x < gutter || x > width) continue;
    if (joints.push({ x, from, to }) > maxJoints) return;
  }
  ctx.fillStyle = palette.text2;
  for (const { x, from, to } of joints) {
    const [top, bottom] = [topOf(scene, from) + rowHeight - 3, topOf(scene, to) + rowHeight - 1];
    ctx.fillRect(x, top, 1, bottom - top);
  }
}

/** The place of the first step that begins at a moment or later. */
function firstAfter(steps: readonly Step[], at: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle]?.from ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Marks the side on which the bars of a row are, when they are out of view. */
function paintBeyond(ctx: CanvasRenderingContext2D, { palette, gutter, width }: Scene, right: number, middle: number): void {
  ctx.strokeStyle = palette.lineStrong;
  ctx.lineWidth = 1.4;
  ctx.beginPath();
  if (right < gutter) drawLines(ctx, gutter + 8, middle, [3, -4, -1, 0, 3, 4]);
  else drawLines(ctx, width - 8, middle, [-3, -4, 1, 0, -3, 4]);
  ctx.stroke();
}

function paintTitle(ctx: CanvasRenderingContext2D, scene: Scene, row: number, y: number, place: number): void {
  const { palette, model, gutter, rowHeight, order } = scene;
  if (rowHeight < 10) return;
  const middle = y + rowHeight / 2;
  const x = 8 + Math.min((order.depths[place] ?? 0) * indent, gutter * 0.4);
  const phase = model.phase(row);
  if (model.childCount(row) > 0 && rowHeight > 16) {
    ctx.strokeStyle = palette.text3;
    ctx.lineWidth = 1.4;
    ctx.beginPath();
    if (scene.collapsed.has(row)) drawLines(ctx, x, middle, [1, -4, 5, 0, 1, 4]);
    else drawLines(ctx, x, middle, [-1, -2, 3, 2, 7, -2]);
    ctx.stroke();
  }
  const sign = rowHeight > 16;
  if (sign) {
    ctx.strokeStyle = palette.phase(phase);
    drawSign(ctx, phase, x + 19, middle);
  }
  const onPath = scene.stepsOf(row) !== undefined;
  ctx.fillStyle = palette.text;
  ctx.font = `${onPath || row === scene.selected ? 600 : 400} ${Math.min(13, rowHeight * 0.8)}px ${palette.font}`;
  ctx.textBaseline = "middle";
  const left = x + (sign ? 31 : 10);
  ctx.fillText(shortened(ctx, nameOf(model, row), gutter - left - 6), left, middle + 0.5);
}

/** Cuts a text to a width. */
function shortened(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  const width = ctx.measureText(text).width;
  if (width <= room) return text;
  const fits = Math.max(1, Math.floor((text.length * (room - 10)) / width));
  return `${text.slice(0, fits)}…`;
}

function paintAxis(ctx: CanvasRenderingContext2D, { ticks, scale, palette, axis }: Scene): void {
  ctx.textBaseline = "middle";
  ctx.font = `11px ${palette.font}`;
  for (const tick of ticks.wall) {
    const x = Math.round(scale.x(tick.at));
    ctx.fillStyle = palette.line;
    ctx.fillRect(x, 0, 1, 7);
    ctx.fillStyle = tick.strong ? palette.text : palette.text3;
    ctx.fillText(tick.label, x + 4, 9);
  }
  for (const tick of ticks.relative) {
    const x = Math.round(scale.x(tick.at));
    ctx.fillStyle = palette.lineStrong;
    ctx.fillRect(x, axis - 8, 1, 8);
    ctx.fillStyle = palette.text2;
    ctx.fillText(tick.label, x + 4, axis - 11);
  }
}

function paintNow(ctx: CanvasRenderingContext2D, { scale, now, palette, axis, height }: Scene): void {
  ctx.fillStyle = palette.danger;
  ctx.fillRect(Math.round(scale.x(now)), axis, 1, height - axis);
}

function paintNowMark(ctx: CanvasRenderingContext2D, { palette, gutter, width, axis }: Scene, x: number): void {
  if (x < gutter || x > width) return;
  ctx.fillStyle = palette.danger;
  ctx.beginPath();
  ctx.moveTo(x - 4, axis - 6);
  ctx.lineTo(x + 5, axis - 6);
  ctx.lineTo(x + 0.5, axis);
  ctx.fill();
}

/** Whether the run is still active. */
export const isRunLive = (model: RunModel): boolean => model.size > 0 && isLive(model.phase(0)) && model.phase(0) !== ActionPhase.UNSPECIFIED;
