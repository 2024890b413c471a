import type { Action } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { msOf } from "@/design/format";
import type { Actions } from "./use-actions";

/** An action in its place in the tree. */
export interface Placed {
  readonly action: Action;
  /** 0 for the root. */
  readonly depth: number;
}

/** The actions as a tree is read: each before its children, siblings in the order of their start. */
export function inOrder(actions: Actions): Placed[] {
  const children = new Map<string, Action[]>();
  const roots: Action[] = [];
  for (const { action } of actions.values()) {
    if (!action) continue;
    const parent = action.metadata?.parent ?? "";
    if (parent === "" || !actions.has(parent)) roots.push(action);
    else children.set(parent, [...(children.get(parent) ?? []), action]);
  }
  const placed: Placed[] = [];
  const open: Placed[] = sorted(roots).map((action) => ({ action, depth: 0 }));
  for (let next = open.pop(); next; next = open.pop()) {
    placed.push(next);
    const { action, depth } = next;
    for (const child of sorted(children.get(action.id?.name ?? "") ?? [])) open.push({ action: child, depth: depth + 1 });
  }
  return placed;
}

/** Last first, as a stack takes them. */
const sorted = (actions: Action[]): Action[] =>
  actions.toSorted((a, b) => at(b) - at(a) || (b.id?.name ?? "").localeCompare(a.id?.name ?? ""));

const at = (action: Action): number => msOf(action.status?.startTime) ?? Number.MAX_SAFE_INTEGER;
