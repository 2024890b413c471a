import { none } from "@/entities/run/model/run-model";
import type { Outline } from "./outline";

/** The nodes that are to be seen, from top to bottom. */
export interface Lines {
  readonly count: number;
  readonly nodes: Uint32Array;
  /** 0 for the root. */
  readonly depths: Uint16Array;
}

/** Unrolls the outline: what is below a node is to be seen when the node is open, and only rows that are shown. */
export function linesOf(outline: Outline, open: (node: number) => boolean, shown: (row: number) => boolean): Lines {
  const nodes = new Uint32Array(outline.size);
  const depths = new Uint16Array(outline.size);
  let count = 0;
  if (outline.size === 0) return { count, nodes, depths };
  let depth = 0;
  let node = 0;
  while (node !== none) {
    const row = outline.row(node);
    if (row === none ? anyShown(outline, node, shown) : shown(row)) {
      nodes[count] = node;
      depths[count] = depth;
      count++;
      const first = outline.first(node);
      if (first !== none && open(node)) {
        node = first;
        depth++;
        continue;
      }
    }
    while (node !== none && outline.next(node) === none) {
      node = outline.parent(node);
      depth--;
    }
    if (node !== none) node = outline.next(node);
  }
  return { count, nodes, depths };
}

function anyShown(outline: Outline, group: number, shown: (row: number) => boolean): boolean {
  for (let member = outline.first(group); member !== none; member = outline.next(member)) {
    if (shown(outline.row(member))) return true;
  }
  return false;
}

/** The line of a node; -1 when it is not to be seen. */
export function lineOf(lines: Lines, node: number): number {
  return node === none ? none : lines.nodes.subarray(0, lines.count).indexOf(node);
}
