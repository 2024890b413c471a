import type { Timeline } from "./controller";

/** What pointers do to the timeline beyond moving it. */
export interface Pointing {
  /** The pointer is over a row, or over none, at a point of the window. */
  readonly hover: (row: number, x: number, y: number) => void;
  readonly choose: (row: number) => void;
}

/** A pointer that moved less than this was meant to stay, in pixels. */
const still = 4;

/** Takes pointers and wheels on the canvas, until the returned function is called. */
export function listen(canvas: HTMLElement, timeline: Timeline, pointing: Pointing): () => void {
  const control = new AbortController();
  const { signal } = control;
  const down = new Map<number, { x: number; y: number }>();
  let start = { x: 0, y: 0 };
  let dragged = false;
  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      start = place(event);
      dragged = down.size > 0;
      down.set(event.pointerId, start);
      pointing.hover(-1, 0, 0);
    },
    { signal },
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const at = place(event);
      const before = down.get(event.pointerId);
      if (!before) {
        if (event.pointerType === "mouse") pointing.hover(timeline.at(at.x, at.y).row, event.clientX, event.clientY);
        return;
      }
      if (!dragged && Math.hypot(at.x - start.x, at.y - start.y) < still) return;
      if (!dragged) canvas.setPointerCapture(event.pointerId);
      dragged = true;
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
      down.set(event.pointerId, at);
      if (other) {
        const [far, near] = [Math.abs(at.x - other.x), Math.abs(before.x - other.x)];
        if (near > 8 && far > 8) timeline.zoom(far / near, (at.x + other.x) / 2);
        return;
      }
      timeline.pan(before.x - at.x);
      if (event.pointerType === "mouse") timeline.scrollBy(before.y - at.y); // fingers scroll by themselves
    },
    { signal },
  );
  const up = (event: PointerEvent) => {
    if (!down.delete(event.pointerId) || dragged || event.type !== "pointerup") return;
    const { x, y } = place(event);
    const { row, fold } = timeline.at(x, y);
    if (row < 0) return;
    if (fold) timeline.toggle(row);
    else pointing.choose(row);
  };
  canvas.addEventListener("pointerup", up, { signal });
  canvas.addEventListener("pointercancel", up, { signal });
  canvas.addEventListener("pointerleave", () => pointing.hover(-1, 0, 0), { signal });
  canvas.addEventListener(
    "dblclick",
    (event) => {
      const { x, y } = place(event);
      timeline.zoomTo(timeline.at(x, y).row);
    },
    { signal },
  );
  canvas.addEventListener(
    "wheel",
    (event) => {
      const unit = event.deltaMode === 1 ? 16 : 1; // lines or pixels
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        timeline.zoom(Math.exp(-event.deltaY * unit * 0.004), place(event).x);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        timeline.pan((event.deltaX || event.deltaY) * unit);
      }
      pointing.hover(-1, 0, 0);
    },
    { signal, passive: false },
  );
  return () => control.abort();
}

/** Takes pointers on the picture of the whole run: they move what is in sight. */
export function listenOverview(canvas: HTMLElement, timeline: Timeline): () => void {
  const control = new AbortController();
  const { signal } = control;
  const look = (event: PointerEvent) => timeline.lookAt(event.clientX - canvas.getBoundingClientRect().left);
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      canvas.setPointerCapture(event.pointerId);
      look(event);
    },
    { signal },
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      if (event.buttons & 1) look(event);
    },
    { signal },
  );
  return () => control.abort();
}

/** What a key does to the timeline; the row to choose, or whether the key meant something. */
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
