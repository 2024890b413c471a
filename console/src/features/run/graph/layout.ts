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
  "elk.layered.crossingMinimization.forceNodeModelOrder": "true",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.thoroughness": "1",
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

const column = nodeWidth + 44;
const gap = 14;
const margin = 8;

/**
 * Lays out a tree: a column for each level, parents at the middle of their children. It is fast, so it is used if there are
 * no data flows, and if the other layout is not available.
 */
export function treeLayout(picture: Picture, edges: readonly Edge[]): Layout {
  const { nodes } = picture;
  const below = new Map<string, number>(); // the height of all children together
  const heights = new Map<string, number>(); // the height of a node with what is below it
  for (const node of [...nodes].reverse()) {
    const height = Math.max(below.get(node.id) ?? 0, heightOf(node) + gap);
    heights.set(node.id, height);
    below.set(node.parent, (below.get(node.parent) ?? 0) + height);
  }
  const places = new Map<string, Point>();
  const free = new Map<string, number>(); // where the next child of a node goes
  let width = 1;
  for (const node of nodes) {
    const top = free.get(node.parent) ?? margin;
    const height = heights.get(node.id) ?? 0;
    free.set(node.parent, top + height);
    free.set(node.id, top + (height - (below.get(node.id) ?? 0)) / 2);
    const x = margin + (node.level - 1) * column;
    places.set(node.id, { x, y: top + (height - gap - heightOf(node)) / 2 });
    width = Math.max(width, x + nodeWidth + margin);
  }
  const routes = new Map(edges.map((edge) => [edge.id, routeOf(picture, places, edge)]));
  return { width, height: margin + (heights.get(nodes[0]?.id ?? "") ?? 0), places, routes };
}

function routeOf(picture: Picture, places: ReadonlyMap<string, Point>, edge: Edge): readonly Point[] {
  const [from, to] = [picture.byId.get(edge.from), picture.byId.get(edge.to)];
  const [a, b] = [places.get(edge.from), places.get(edge.to)];
  if (!from || !to || !a || !b) return [];
  const [start, end] = [a.y + heightOf(from) / 2, b.y + heightOf(to) / 2];
  const left = a.x + nodeWidth;
  if (b.x > left) {
    const middle = (left + b.x) / 2;
    return start === end
      ? [
          { x: left, y: start },
          { x: b.x, y: end },
        ]
      : [
          { x: left, y: start },
          { x: middle, y: start },
          { x: middle, y: end },
          { x: b.x, y: end },
        ];
  }
  const right = Math.max(left, b.x + nodeWidth) + 16;
  return [
    { x: left, y: start },
    { x: right, y: start },
    { x: right, y: end },
    { x: b.x + nodeWidth, y: end },
  ];
}
