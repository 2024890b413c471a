import { phases, lookOf } from "@/design/phases";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";

/** The colors and types of the design language, as a canvas needs them. */
export interface Palette {
  readonly ground: string;
  readonly ground2: string;
  readonly ground3: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly text: string;
  readonly text2: string;
  readonly text3: string;
  readonly accent: string;
  readonly accentGround: string;
  readonly danger: string;
  readonly font: string;
  readonly phase: (phase: ActionPhase) => string;
}

/** Reads the tokens as they are now. */
export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim() || "gray";
  const colours = new Map([...phases.map((look) => look.colour), lookOf(ActionPhase.UNSPECIFIED).colour].map((name) => [name, token(name)]));
  return {
    ground: token("--ground"),
    ground2: token("--ground-2"),
    ground3: token("--ground-3"),
    line: token("--line"),
    lineStrong: token("--line-strong"),
    text: token("--text"),
    text2: token("--text-2"),
    text3: token("--text-3"),
    accent: token("--accent"),
    accentGround: token("--accent-ground"),
    danger: token("--danger"),
    font: style.fontFamily || "sans-serif",
    phase: (phase) => colours.get(lookOf(phase).colour) ?? "gray",
  };
}

/** Tells when the theme changes, until the returned function is called. */
export function onThemeChange(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class", "style"] });
  return () => observer.disconnect();
}

/** Makes a canvas as fine as the screen is, and clears it. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = globalThis.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const ctx = canvas.getContext("2d");
  if (!ctx) return null;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}
