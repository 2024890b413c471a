/** A point of a drawing, in pixels from its upper left corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What pointers do to a drawing that is larger than its viewport. */
export interface Drawn {
  /** Moves it by pixels. */
  readonly pull: (dx: number, dy: number, pointer: string) => void;
  /** Zooms by a factor around a point. */
  readonly zoom: (factor: number, around: Point) => void;
  /** The distance of two fingers in the directions that zoom. */
  readonly spread: (dx: number, dy: number) => number;
  /** Scrolls by a turn of the wheel, in pixels. Returns false if the page should scroll instead. */
  readonly turn: (dx: number, dy: number) => boolean;
  /** A pointer was pressed and released at a point. */
  readonly click: (at: Point, target: Element) => void;
}

/** A pointer that moved less than this did not drag, in pixels. */
const still = 4;
/** Fingers closer than this do not zoom, in pixels: small movements would change the zoom a lot. */
const apart = 8;
/** The height of a line that a wheel scrolls, in pixels. */
const line = 16;

/** The position of a pointer on a surface. */
export function placeIn(surface: HTMLElement, event: MouseEvent): Point {
  const box = surface.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** Handles pointers and wheels on a surface. The returned function stops it. */
export function takePointers(surface: HTMLElement, drawn: Drawn): () => void {
  const control = new AbortController();
  const { signal } = control;
  const down = new Map<number, Point>();
  let start: Point = { x: 0, y: 0 };
  let dragged = false;

  const press = (event: PointerEvent) => {
    if (event.button !== 0) return;
    start = placeIn(surface, event);
    dragged = down.size > 0;
    down.set(event.pointerId, start);
  };
  const move = (event: PointerEvent) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const at = placeIn(surface, event);
    if (!dragged && Math.hypot(at.x - start.x, at.y - start.y) < still) return;
    if (!dragged) surface.setPointerCapture(event.pointerId);
    dragged = true;
    surface.dataset["dragged"] = "";
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, at);
    if (!other) {
      drawn.pull(at.x - before.x, at.y - before.y, event.pointerType);
      return;
    }
    const [far, near] = [at, before].map((point) => drawn.spread(point.x - other.x, point.y - other.y));
    if (far !== undefined && near !== undefined && Math.min(far, near) > apart) drawn.zoom(far / near, { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 });
  };
  const release = (event: PointerEvent) => {
    const known = down.delete(event.pointerId);
    if (down.size === 0) delete surface.dataset["dragged"];
    if (known && !dragged && event.type === "pointerup" && event.target instanceof Element) drawn.click(placeIn(surface, event), event.target);
  };
  const turn = (event: WheelEvent) => {
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? line : 1;
    let [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      drawn.zoom(Math.exp(-dy * 0.004), placeIn(surface, event));
      return;
    }
    if (event.shiftKey && dx === 0) [dx, dy] = [dy, 0];
    if (drawn.turn(dx, dy)) event.preventDefault();
  };
  surface.addEventListener("pointerdown", press, { signal });
  surface.addEventListener("pointermove", move, { signal });
  surface.addEventListener("pointerup", release, { signal });
  surface.addEventListener("pointercancel", release, { signal });
  surface.addEventListener("wheel", turn, { signal, passive: false });
  return () => control.abort();
}
