import { none } from "../model/run-model";
import type { Outline } from "./outline";

/** Groups and actions with more below them than these are closed until somebody opens them. */
const smallGroup = 20;
const smallFamily = 200;

/** What the reader opened and closed, by the keys of nodes. */
export type Choices = ReadonlyMap<string, boolean>;

/** Says which nodes are open: as the reader chose, or by how much is below. A run that only has one level is open. */
export function openness(outline: Outline, choices: Choices, searching: boolean, revealed: ReadonlySet<number>): (node: number) => boolean {
  return (node) => {
    if (choices.size > 0) {
      const chosen = choices.get(outline.key(node));
      if (chosen !== undefined) return chosen;
    }
    if (searching || revealed.has(node)) return true;
    const row = outline.row(node);
    if (row === none) return outline.members(node) <= smallGroup;
    return outline.parent(node) === none || outline.members(node) <= smallFamily;
  };
}

/** The nodes above a node. */
export function above(outline: Outline, node: number): Set<number> {
  const nodes = new Set<number>();
  for (let at = node === none ? none : outline.parent(node); at !== none; at = outline.parent(at)) nodes.add(at);
  return nodes;
}
