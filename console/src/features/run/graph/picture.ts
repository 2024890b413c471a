import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { isFailure } from "@/design/phases";
import { none, type RunModel } from "@/entities/run/model/run-model";
import type { Folds } from "./folds";

interface NodeBase {
  /** The same as long as the run lives. */
  readonly id: string;
  /** The id of what it is drawn below; empty for the root. */
  readonly parent: string;
  /** How deep it is, from 1. */
  readonly level: number;
  /** Its place among its siblings, from 1, and how many these are. */
  readonly place: number;
  readonly places: number;
  /** Whether what is below it is drawn. */
  readonly open: boolean;
}

/** An action. */
export interface ActionNode extends NodeBase {
  readonly kind: "action";
  readonly row: number;
  /** How many children it has. */
  readonly below: number;
}

/** The children of an action that do the same. */
export interface GroupNode extends NodeBase {
  readonly kind: "group";
  readonly title: string;
  /** What the program calls them together; empty when it does not. */
  readonly group: string;
  readonly count: number;
  readonly phases: ReadonlyMap<ActionPhase, number>;
  readonly failures: number;
}

/** The entries of a list that are not shown. */
export interface MoreNode extends NodeBase {
  readonly kind: "more";
  readonly count: number;
  /** Whether all the room is taken, so that something has to be folded first. */
  readonly full: boolean;
}

export type GraphNode = ActionNode | GroupNode | MoreNode;

/** The visible part of a run. */
export interface Picture {
  /** Each followed by what is below it. */
  readonly nodes: readonly GraphNode[];
  readonly byId: ReadonlyMap<string, GraphNode>;
  /** The actions whose children are drawn, alone or in groups. */
  readonly parents: readonly number[];
  /** Whether something that was opened is not drawn, because there is no room for it. */
  readonly full: boolean;
}

export const emptyPicture: Picture = { nodes: [], byId: new Map(), parents: [], full: false };

/** The maximum number of nodes. */
export const maxNodes = 300;
/** With more children than this, those with the same title are grouped. */
const fewChildren = 12;
/** The minimum size of a group. */
const smallestGroup = 4;
/** Actions are expanded automatically up to this many nodes. */
const roomToOpen = 60;
/** The rows of one step. */
const rowsPerStep = 2048;

export const actionId = (model: RunModel, row: number): string => `a:${model.name(row)}`;
export const groupId = (model: RunModel, row: number): string => `g:${model.name(model.parent(row))}/${model.group(row)}/${model.title(row)}`;
export const moreId = (list: string): string => `m:${list}`;

interface Group {
  readonly rows: number[];
  readonly phases: Map<ActionPhase, number>;
}

/** What may be drawn below a node: an action or a group of them, by its first action. */
interface Entry {
  readonly row: number;
  readonly group: Group | undefined;
}

/** Chooses what is drawn, level by level, in steps. It may grow the folds: what was once opened by itself stays open. */
export function* pictureOf(model: RunModel, visible: (row: number) => boolean, folds: Folds): Generator<void, Picture> {
  if (model.size === 0) return emptyPicture;
  const root: ActionNode = {
    kind: "action",
    id: actionId(model, 0),
    parent: "",
    level: 1,
    place: 1,
    places: 1,
    row: 0,
    below: model.childCount(0),
    open: folds.isOpen(actionId(model, 0), true),
  };
  const lists = new Map<string, GraphNode[]>();
  const members = new Map<string, Group>();
  const parents: number[] = [];
  let drawn = 1;
  let planned = 1; // with what is below those that were opened
  const crowded = new Set<string>(); // open, but there is no room for what is below
  const queue: GraphNode[] = [root];
  for (let at = 0; at < queue.length; at++) {
    const node = queue[at];
    if (!node?.open || node.kind === "more") continue;
    const room = maxNodes - drawn - 1;
    if (room <= 0) {
      crowded.add(node.id);
      continue;
    }
    let entries: Entry[];
    if (node.kind === "group") {
      entries = (members.get(node.id)?.rows ?? []).map((row) => ({ row, group: undefined }));
    } else {
      entries = yield* entriesOf(model, node.row, visible);
      if (entries.length > 0) parents.push(node.row);
    }
    const wanted = folds.limit(node.id);
    const chosen = folds.choose(
      node.id,
      entries,
      Math.min(wanted, room),
      (entry) => entryId(model, entry),
      (entry) => isFailure(model.phase(entry.row)),
    );
    const rest = entries.length - chosen.length;
    const places = chosen.length + (rest > 0 ? 1 : 0);
    drawn += places;
    planned = Math.max(planned, drawn);
    // Siblings are opened by themselves all together or not at all.
    const below = chosen.reduce((sum, entry) => sum + (entry.group ? 0 : Math.min(model.childCount(entry.row), fewChildren + 1)), 0);
    const roomy = model.complete && planned + below <= roomToOpen;
    if (roomy) planned += below;
    const list = chosen.map((entry, i) => nodeOf(model, entry, node, i + 1, places, (id, suggested) => folds.isOpen(id, roomy && suggested)));
    if (rest > 0) {
      list.push({
        kind: "more",
        id: moreId(node.id),
        parent: node.id,
        level: node.level + 1,
        place: places,
        places,
        open: false,
        count: rest,
        full: wanted > room,
      });
    }
    chosen.forEach((entry, i) => {
      const id = list[i]?.id;
      if (entry.group && id !== undefined) members.set(id, entry.group);
    });
    lists.set(node.id, list);
    queue.push(...list);
    yield;
  }
  const nodes: GraphNode[] = [];
  const stack: GraphNode[] = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    nodes.push(crowded.has(node.id) ? { ...node, open: false } : node);
    stack.push(...(lists.get(node.id) ?? []).reverse());
  }
  const full = crowded.size > 0 || nodes.some((node) => node.kind === "more" && node.full);
  return { nodes, byId: new Map(nodes.map((node) => [node.id, node])), parents, full };
}

const entryId = (model: RunModel, entry: Entry): string => (entry.group ? groupId(model, entry.row) : actionId(model, entry.row));

function nodeOf(
  model: RunModel,
  { row, group }: Entry,
  above: GraphNode,
  place: number,
  places: number,
  isOpen: (id: string, suggested: boolean) => boolean,
): GraphNode {
  const base = { parent: above.id, level: above.level + 1, place, places };
  if (!group) {
    const id = actionId(model, row);
    const below = model.childCount(row);
    return { ...base, kind: "action", id, row, below, open: below > 0 && isOpen(id, true) };
  }
  const id = groupId(model, row);
  let failures = 0;
  for (const [phase, count] of group.phases) if (isFailure(phase)) failures += count;
  return {
    ...base,
    kind: "group",
    id,
    title: model.title(row),
    group: model.group(row),
    count: group.rows.length,
    phases: group.phases,
    failures,
    open: isOpen(id, false),
  };
}

/** The children of an action; where there are many, similar ones are grouped. */
function* entriesOf(model: RunModel, parent: number, visible: (row: number) => boolean): Generator<void, Entry[]> {
  const groups = new Map<string, Map<string, Group>>(); // by group and title
  let count = 0;
  let since = 0;
  for (let row = model.firstChild(parent); row !== none; row = model.nextSibling(row)) {
    if (++since % rowsPerStep === 0) yield;
    if (!visible(row)) continue;
    count++;
    const name = model.group(row);
    let titles = groups.get(name);
    if (!titles) groups.set(name, (titles = new Map<string, Group>()));
    const title = model.title(row);
    let group = titles.get(title);
    if (!group) titles.set(title, (group = { rows: [], phases: new Map() }));
    group.rows.push(row);
    const phase = model.phase(row);
    group.phases.set(phase, (group.phases.get(phase) ?? 0) + 1);
  }
  const entries: Entry[] = [];
  for (const titles of groups.values()) {
    for (const group of titles.values()) {
      if (count > fewChildren && group.rows.length >= smallestGroup) entries.push({ row: group.rows[0] ?? none, group });
      else for (const row of group.rows) entries.push({ row, group: undefined });
    }
  }
  return entries.sort((a, b) => a.row - b.row);
}
