import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";

/** Draws the sign of a phase around a point, in the color that is set for strokes. It has the form of the icon that pages show. */
export function drawSign(ctx: CanvasRenderingContext2D, phase: ActionPhase, x: number, y: number): void {
  ctx.lineWidth = 1.4;
  ctx.beginPath();
  if (phase === ActionPhase.QUEUED || phase === ActionPhase.UNSPECIFIED) ctx.setLineDash([2, 2]);
  if (phase === ActionPhase.WAITING_FOR_RESOURCES) {
    drawLines(ctx, x, y, [-3, -5, 3, -5, -3, 5, 3, 5, -3, -5]);
  } else if (phase === ActionPhase.INITIALIZING) {
    ctx.arc(x, y, 5, -Math.PI / 2, Math.PI);
  } else {
    ctx.arc(x, y, 5.5, 0, 2 * Math.PI);
  }
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  switch (phase) {
    case ActionPhase.SUCCEEDED:
      drawLines(ctx, x, y, [-2.5, 0, -0.7, 2, 2.6, -2]);
      break;
    case ActionPhase.FAILED:
      drawLines(ctx, x, y, [-2, -2, 2, 2]);
      drawLines(ctx, x, y, [-2, 2, 2, -2]);
      break;
    case ActionPhase.TIMED_OUT:
      drawLines(ctx, x, y, [0, -3.2, 0, 0.4, 2.2, 1.8]);
      break;
    case ActionPhase.ABORTED:
      drawLines(ctx, x, y, [-3.6, -3.6, 3.6, 3.6]);
      break;
    case ActionPhase.PAUSED:
      drawLines(ctx, x, y, [-1.5, -2.2, -1.5, 2.2]);
      drawLines(ctx, x, y, [1.5, -2.2, 1.5, 2.2]);
      break;
    case ActionPhase.RUNNING:
      drawLines(ctx, x, y, [-1.4, -2.4, 2.4, 0, -1.4, 2.4, -1.4, -2.4]);
      break;
    case ActionPhase.RECOVERED:
      drawLines(ctx, x, y, [0, -3, 0, 0, -2.4, 1.4]);
      break;
    default:
  }
  ctx.stroke();
}

/** Adds a line through points, given as offsets from one, to the path. */
export function drawLines(ctx: CanvasRenderingContext2D, x: number, y: number, points: readonly number[]): void {
  for (let i = 0; i + 1 < points.length; i += 2) {
    const [px, py] = [x + (points[i] ?? 0), y + (points[i + 1] ?? 0)];
    if (i === 0) ctx.moveTo(px, py);
    else ctx.lineTo(px, py);
  }
}
