import type { ELK, ElkNode } from "elkjs/lib/elk-api";
import type { Edge } from "./edges";
import type { GraphNode, Picture } from "./picture";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where everything is, in pixels at the scale of one. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly places: ReadonlyMap<string, Point>;
  /** The corners of each edge. */
  readonly routes: ReadonlyMap<string, readonly Point[]>;
}

export const emptyLayout: Layout = { width: 1, height: 1, places: new Map(), routes: new Map() };

export const nodeWidth = 216;
const heights = { action: 46, group: 56, more: 30 } as const;
export const heightOf = (node: GraphNode): number => heights[node.kind];

const options = {
  "elk.algorithm": "layered",
  "elk.direction": "RIGHT",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.spacing.nodeNode": "14",
  "elk.spacing.edgeNode": "12",
  "elk.spacing.edgeEdge": "8",
  "elk.layered.spacing.nodeNodeBetweenLayers": "44",
  "elk.layered.spacing.edgeNodeBetweenLayers": "16",
  "elk.layered.mergeEdges": "true",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.thoroughness": "5",
  "elk.padding": "[top=8,left=8,bottom=8,right=8]",
};

/** Lays a picture out with the help of ELK. */
export async function elkLayout(elk: Pick<ELK, "layout">, picture: Picture, edges: readonly Edge[]): Promise<Layout> {
  const graph: ElkNode = {
    id: "graph",
    layoutOptions: options,
    children: picture.nodes.map((node) => ({ id: node.id, width: nodeWidth, height: heightOf(node) })),
    edges: edges.map((edge) => ({ id: edge.id, sources: [edge.from], targets: [edge.to] })),
  };
  const laid = await elk.layout(graph);
  return {
    width: laid.width ?? 1,
    height: laid.height ?? 1,
    places: new Map((laid.children ?? []).map((node) => [node.id, { x: node.x ?? 0, y: node.y ?? 0 }])),
    routes: new Map(
      (laid.edges ?? []).map((edge) => {
        const section = edge.sections?.[0];
        return [edge.id, section ? [section.startPoint, ...(section.bendPoints ?? []), section.endPoint] : []];
      }),
    ),
  };
}

const step = nodeWidth + 44;
const gap = 14;

/** A plain layout, for when the other is not to be had: a line for each node, as deep as it is in the tree. */
export function plainLayout(picture: Picture, edges: readonly Edge[]): Layout {
  const places = new Map<string, Point>();
  let [y, width] = [8, 1];
  for (const node of picture.nodes) {
    const x = 8 + (node.level - 1) * 48;
    places.set(node.id, { x, y });
    y += heightOf(node) + gap;
    width = Math.max(width, x + step);
  }
  const routes = new Map<string, readonly Point[]>();
  for (const edge of edges) {
    const [from, to] = [picture.byId.get(edge.from), picture.byId.get(edge.to)];
    const [a, b] = [places.get(edge.from), places.get(edge.to)];
    if (!from || !to || !a || !b) continue;
    const middle = b.y + heightOf(to) / 2;
    if (edge.kind === "child") {
      routes.set(edge.id, [{ x: a.x + 20, y: a.y + heightOf(from) }, { x: a.x + 20, y: middle }, { x: b.x, y: middle }]);
    } else {
      const [right, start] = [Math.max(a.x, b.x) + nodeWidth + 20, a.y + heightOf(from) / 2];
      routes.set(edge.id, [{ x: a.x + nodeWidth, y: start }, { x: right, y: start }, { x: right, y: middle }, { x: b.x + nodeWidth, y: middle }]);
    }
  }
  return { width, height: y, places, routes };
}
