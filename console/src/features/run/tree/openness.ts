import { none } from "@/entities/run/model/run-model";
import type { Outline } from "./outline";

/** Groups and actions with more members than these are initially collapsed. */
const smallGroup = 20;
const smallFamily = 200;

/** What the user expanded and collapsed, by node key. */
export type Choices = ReadonlyMap<string, boolean>;

/** Whether a node is expanded: as the user chose, or by the number of its members. */
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
