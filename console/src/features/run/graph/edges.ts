import type { RunModel } from "@/entities/run/model/run-model";
import { actionId, groupId, moreId, type Picture } from "./picture";

/** An output of one action that another one took. */
export interface Flow {
  /** The names of actions. */
  readonly from: string;
  readonly to: string;
  /** The name of the input. */
  readonly variable: string;
}

/** A line between two nodes. */
export interface Edge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** Whether the one started the other, or made something that the other took. */
  readonly kind: "child" | "data";
  /** The inputs that were taken; none for children. */
  readonly variables: readonly string[];
}

/**
 * The lines of a picture. Something that takes what a sibling made is drawn after that and not below their parent as well:
 * the way to it is clear.
 */
export function edgesOf(model: RunModel, picture: Picture, flowsOf: (row: number) => readonly Flow[]): Edge[] {
  const data = new Map<string, { from: string; to: string; variables: Set<string> }>();
  for (const parent of picture.parents) {
    const flows = flowsOf(parent).map((flow) => ({ from: holder(model, picture, flow.from), to: holder(model, picture, flow.to), variable: flow.variable }));
    const gathered = gathering(picture, flows);
    for (const flow of flows) {
      const from = flow.from;
      const to = gathered.has(`${from}>${groupOf(picture, flow.to)}`) ? groupOf(picture, flow.to) : flow.to;
      if (from === undefined || to === undefined || from === to) continue;
      const id = `${from}>${to}`;
      const edge = data.get(id);
      if (edge) edge.variables.add(flow.variable);
      else data.set(id, { from, to, variables: new Set([flow.variable]) });
    }
  }
  const edges: Edge[] = [...data].map(([id, { from, to, variables }]) => ({ id, from, to, kind: "data", variables: [...variables] }));
  return [...childEdges(picture, edges), ...edges];
}

/** With more lines than this from one node into an open group there is one to the group instead. */
const fewLines = 2;

/** Which nodes feed many of an open group, as "from>group". */
function gathering(picture: Picture, flows: readonly { readonly from: string | undefined; readonly to: string | undefined }[]): Set<string> {
  const fed = new Map<string, Set<string>>();
  for (const { from, to } of flows) {
    const group = groupOf(picture, to);
    if (from === undefined || to === undefined || group === undefined || groupOf(picture, from) === group) continue;
    const key = `${from}>${group}`;
    const members = fed.get(key);
    if (members) members.add(to);
    else fed.set(key, new Set([to]));
  }
  return new Set([...fed].filter(([, members]) => members.size > fewLines).map(([key]) => key));
}

/** The open group that a node is drawn in. */
function groupOf(picture: Picture, id: string | undefined): string | undefined {
  const above = picture.byId.get(picture.byId.get(id ?? "")?.parent ?? "");
  return above?.kind === "group" ? above.id : undefined;
}

/** The node that shows an action: its own node, or the group that contains it. */
function holder(model: RunModel, picture: Picture, name: string): string | undefined {
  const row = model.row(name);
  if (row < 0) return undefined;
  const group = groupId(model, row);
  return [actionId(model, row), group, moreId(group), moreId(actionId(model, model.parent(row)))].find((id) => picture.byId.has(id));
}

function childEdges(picture: Picture, data: readonly Edge[]): Edge[] {
  const after = new Map<string, string[]>();
  const follows = new Set<string>();
  for (const { from, to } of data) {
    if (picture.byId.get(from)?.parent !== picture.byId.get(to)?.parent) continue;
    const list = after.get(from);
    if (list) list.push(to);
    else after.set(from, [to]);
    follows.add(to);
  }
  const edges: Edge[] = [];
  const reached = new Set<string>();
  const reach = (first: string) => {
    const stack = [first];
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      if (reached.has(id)) continue;
      reached.add(id);
      stack.push(...(after.get(id) ?? []));
    }
  };
  const nodes = picture.nodes.filter((node) => node.parent !== "");
  // What takes from no sibling comes first; of those that take from each other in a circle one has to hang somewhere.
  for (const node of [...nodes.filter(({ id }) => !follows.has(id)), ...nodes.filter(({ id }) => follows.has(id))]) {
    if (reached.has(node.id)) continue;
    edges.push({ id: `${node.parent}/${node.id}`, from: node.parent, to: node.id, kind: "child", variables: [] });
    reach(node.id);
  }
  return edges;
}
