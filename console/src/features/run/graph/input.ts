import type { Graph } from "./controller";

/** What is meant by a pointer that goes down and up on a node. */
export interface Pointing {
  readonly choose: (id: string) => void;
  readonly toggle: (id: string) => void;
}

/** A pointer that moved less than this was meant to stay, in pixels. */
const still = 4;

/** Takes pointers and wheels on the frame, until the returned function is called. */
export function listen(frame: HTMLElement, graph: Graph, pointing: Pointing): () => void {
  const control = new AbortController();
  const { signal } = control;
  const down = new Map<number, { readonly x: number; readonly y: number }>();
  let start = { x: 0, y: 0 };
  let dragged = false;
  const place = (event: MouseEvent) => {
    const box = frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  frame.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      start = place(event);
      dragged = down.size > 0;
      down.set(event.pointerId, start);
    },
    { signal },
  );
  frame.addEventListener(
    "pointermove",
    (event) => {
      const before = down.get(event.pointerId);
      if (!before) return;
      const at = place(event);
      if (!dragged && Math.hypot(at.x - start.x, at.y - start.y) < still) return;
      if (!dragged) frame.setPointerCapture(event.pointerId);
      dragged = true;
      frame.dataset["dragged"] = "";
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
      down.set(event.pointerId, at);
      if (!other) {
        graph.pan(at.x - before.x, at.y - before.y);
        return;
      }
      const [far, near] = [Math.hypot(at.x - other.x, at.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)];
      if (near > 8 && far > 8) graph.zoom(far / near, (at.x + other.x) / 2, (at.y + other.y) / 2);
    },
    { signal },
  );
  const up = (event: PointerEvent) => {
    const known = down.delete(event.pointerId);
    if (down.size === 0) delete frame.dataset["dragged"];
    if (!known || dragged || event.type !== "pointerup" || !(event.target instanceof Element)) return;
    const id = event.target.closest<HTMLElement>("[data-node]")?.dataset["node"];
    if (id === undefined) return;
    if (event.target.closest("[data-fold]")) pointing.toggle(id);
    else pointing.choose(id);
  };
  frame.addEventListener("pointerup", up, { signal });
  frame.addEventListener("pointercancel", up, { signal });
  frame.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1; // lines or pixels
      const { x, y } = place(event);
      if (event.ctrlKey || event.metaKey) graph.zoom(Math.exp(-event.deltaY * unit * 0.004), x, y);
      else if (event.shiftKey && event.deltaX === 0) graph.pan(-event.deltaY * unit, 0);
      else graph.pan(-event.deltaX * unit, -event.deltaY * unit);
    },
    { signal, passive: false },
  );
  return () => control.abort();
}

/** What a key means: a node to go to, one to open or close, one to choose, or that something was done; undefined is nothing. */
export type Meant = { readonly go: string } | { readonly toggle: string } | { readonly choose: string } | "done" | undefined;

/** The keys of a tree, and those of a map. */
export function press(graph: Graph, key: string): Meant {
  const { picture, cursor } = graph.shown;
  const { nodes } = picture;
  const at = nodes.findIndex((node) => node.id === cursor);
  const node = nodes[at];
  const go = (place: number): Meant => {
    const id = nodes[Math.min(nodes.length - 1, Math.max(0, place))]?.id;
    return id === undefined ? undefined : { go: id };
  };
  switch (key) {
    case "ArrowDown":
      return go(at + 1);
    case "ArrowUp":
      return go(at - 1);
    case "Home":
      return go(0);
    case "End":
      return go(nodes.length - 1);
    case "ArrowRight":
      if (!node) return go(0);
      if (node.open) return go(at + 1);
      return (node.kind === "action" && node.below === 0) || node.kind === "more" ? "done" : { toggle: node.id };
    case "ArrowLeft":
      if (!node) return go(0);
      if (node.open) return { toggle: node.id };
      return node.parent === "" ? "done" : { go: node.parent };
    case "Enter":
    case " ":
      if (!node) return undefined;
      return node.kind === "action" ? { choose: node.id } : { toggle: node.id };
    case "+":
    case "=":
      graph.zoom(1.25);
      return "done";
    case "-":
      graph.zoom(1 / 1.25);
      return "done";
    case "0":
      graph.fit();
      return "done";
    default:
      return undefined;
  }
}
