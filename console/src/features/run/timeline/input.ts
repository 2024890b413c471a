import { placeIn, takePointers } from "@/features/run/drawing/pointers";
import type { Timeline } from "./controller";

/** What pointers do beyond moving the timeline. */
export interface Pointing {
  /** The pointer is over a row, or over no row (-1), at a point of the window. */
  readonly hover: (row: number, x: number, y: number) => void;
  readonly choose: (row: number) => void;
}

/** Handles pointers and wheels on the canvas. The returned function stops it. */
export function listen(canvas: HTMLElement, timeline: Timeline, pointing: Pointing): () => void {
  const stop = takePointers(canvas, {
    pull: (dx, dy, pointer) => {
      timeline.pan(-dx);
      if (pointer === "mouse") timeline.scrollBy(-dy); // fingers scroll by themselves
    },
    zoom: (factor, { x }) => timeline.zoom(factor, x),
    spread: (dx) => Math.abs(dx),
    turn: (dx, dy) => {
      if (Math.abs(dx) <= Math.abs(dy)) return false;
      timeline.pan(dx);
      return true;
    },
    click: ({ x, y }) => {
      const { row, fold } = timeline.at(x, y);
      if (row < 0) return;
      if (fold) timeline.toggle(row);
      else pointing.choose(row);
    },
  });
  const control = new AbortController();
  const { signal } = control;
  const hover = (event: PointerEvent) => {
    if (event.pointerType !== "mouse" || event.buttons !== 0) return;
    const { x, y } = placeIn(canvas, event);
    pointing.hover(timeline.at(x, y).row, event.clientX, event.clientY);
  };
  const leave = () => pointing.hover(-1, 0, 0);
  canvas.addEventListener("pointermove", hover, { signal });
  for (const event of ["pointerdown", "pointerleave", "wheel"]) canvas.addEventListener(event, leave, { signal, passive: true });
  canvas.addEventListener(
    "dblclick",
    (event) => {
      const { x, y } = placeIn(canvas, event);
      timeline.zoomTo(timeline.at(x, y).row);
    },
    { signal },
  );
  return () => {
    stop();
    control.abort();
  };
}

/** Handles pointers on the overview: they move the visible range. */
export function listenOverview(canvas: HTMLElement, timeline: Timeline): () => void {
  const control = new AbortController();
  const { signal } = control;
  const center = (event: PointerEvent) => timeline.centerOn(event.clientX - canvas.getBoundingClientRect().left);
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      canvas.setPointerCapture(event.pointerId);
      center(event);
    },
    { signal },
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      if (event.buttons & 1) center(event);
    },
    { signal },
  );
  return () => control.abort();
}

/** Handles a key. Returns the row to choose, or whether the key was handled. */
export function press(timeline: Timeline, key: string): number | boolean {
  switch (key) {
    case "ArrowDown":
      return timeline.neighbour(1);
    case "ArrowUp":
      return timeline.neighbour(-1);
    case "PageDown":
      return timeline.neighbour(timeline.rowsOnPage);
    case "PageUp":
      return timeline.neighbour(-timeline.rowsOnPage);
    case "Home":
      return timeline.neighbour(Number.NEGATIVE_INFINITY);
    case "End":
      return timeline.neighbour(Number.POSITIVE_INFINITY);
    case "ArrowLeft":
      timeline.pan(-80);
      return true;
    case "ArrowRight":
      timeline.pan(80);
      return true;
    case "+":
    case "=":
      timeline.zoom(1.5);
      return true;
    case "-":
      timeline.zoom(1 / 1.5);
      return true;
    case "0":
      timeline.fit();
      return true;
    case "Enter":
      timeline.zoomTo(timeline.shown.cursor);
      return true;
    case " ":
      timeline.toggle(timeline.shown.cursor);
      return true;
    default:
      return false;
  }
}
