import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { none, type RunModel } from "@/entities/run/model/run-model";
import type { Density } from "./density";
import { rowAt, type Order } from "./order";
import type { Palette } from "./palette";
import type { Scale } from "./scale";
import { endOf } from "./segments";

/** The data that the overview is painted from. */
export interface OverviewScene {
  readonly model: RunModel;
  readonly order: Order;
  readonly density: Density | undefined;
  readonly scale: Scale;
  readonly palette: Palette;
  readonly width: number;
  readonly height: number;
  readonly now: number;
  /** The part that the timeline shows: from and to, in pixels. */
  readonly visible: readonly [number, number];
}

/** Draws the whole run: its rows as lines if each gets at least a pixel, else the number of active actions over time. */
export function paintOverview(ctx: CanvasRenderingContext2D, scene: OverviewScene): void {
  const { palette, width, height, visible, order } = scene;
  ctx.fillStyle = palette.ground2;
  ctx.fillRect(0, 0, width, height);
  if (order.length > 0 && order.length * 2 <= height) paintRows(ctx, scene);
  else if (scene.density) paintDensity(ctx, scene, scene.density);
  const [from, to] = [Math.max(0, visible[0]), Math.min(width, visible[1])];
  ctx.fillStyle = palette.ground3;
  ctx.globalAlpha = 0.65;
  ctx.fillRect(0, 0, from, height);
  ctx.fillRect(to, 0, width - to, height);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = palette.accent;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(from + 0.75, 0.75, Math.max(2, to - from - 1.5), height - 1.5);
}

function paintRows(ctx: CanvasRenderingContext2D, { model, order, scale, palette, height, now }: OverviewScene): void {
  const step = Math.min(6, height / order.length);
  for (let place = 0; place < order.length; place++) {
    const row = rowAt(order, place);
    const started = model.started(row);
    const [begin, end, y] = [model.created(row), endOf(model, row, now), place * step];
    ctx.fillStyle = palette.phase(ActionPhase.QUEUED);
    ctx.fillRect(scale.x(begin), y + step / 2 - 0.5, Math.max(1, scale.x(started === none ? end : started) - scale.x(begin)), 1);
    if (started === none) continue;
    ctx.fillStyle = palette.phase(model.phase(row));
    ctx.fillRect(scale.x(started), y, Math.max(1, scale.x(end) - scale.x(started)), Math.max(1, step - 1));
  }
}

function paintDensity(ctx: CanvasRenderingContext2D, { palette, width, height }: OverviewScene, density: Density): void {
  const bins = density.running.length;
  const w = width / bins;
  const room = height - 4;
  for (let bin = 0; bin < bins; bin++) {
    const [running, waiting] = [density.running[bin] ?? 0, density.waiting[bin] ?? 0];
    const r = running > 0 ? Math.max(1, (running / density.peak) * room) : 0;
    const q = waiting > 0 ? Math.max(1, (waiting / density.peak) * room) : 0;
    ctx.fillStyle = palette.phase(ActionPhase.RUNNING);
    ctx.fillRect(bin * w, height - r, w + 0.5, r);
    ctx.fillStyle = palette.phase(ActionPhase.QUEUED);
    ctx.globalAlpha = 0.5;
    ctx.fillRect(bin * w, height - r - q, w + 0.5, q);
    ctx.globalAlpha = 1;
    if ((density.failed[bin] ?? 0) > 0) {
      ctx.fillStyle = palette.phase(ActionPhase.FAILED);
      ctx.fillRect(bin * w, 0, Math.max(1.5, w), 4);
    }
  }
}
