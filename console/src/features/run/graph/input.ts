import { takePointers } from "@/features/run/drawing/pointers";
import type { Graph } from "./controller";

/** What is meant by a pointer that goes down and up on a node. */
export interface Pointing {
  readonly choose: (id: string) => void;
  readonly toggle: (id: string) => void;
}

/** Takes pointers and wheels on the frame, until the returned function is called. */
export function listen(frame: HTMLElement, graph: Graph, pointing: Pointing): () => void {
  return takePointers(frame, {
    pull: (dx, dy) => graph.pan(dx, dy),
    zoom: (factor, { x, y }) => graph.zoom(factor, x, y),
    spread: Math.hypot,
    turn: (dx, dy) => {
      graph.pan(-dx, -dy);
      return true;
    },
    click: (_, target) => {
      const id = target.closest<HTMLElement>("[data-node]")?.dataset["node"];
      if (id === undefined) return;
      if (target.closest("[data-fold]")) pointing.toggle(id);
      else pointing.choose(id);
    },
  });
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
