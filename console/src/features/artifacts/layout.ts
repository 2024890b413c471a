import { LineageEdge_Kind, type GetLineageResponse, type LineageNode } from "@gen/flytebinary/insight/v1/artifact_pb.js";

/** A node with its place in the drawing. */
export interface Box {
  readonly node: LineageNode;
  readonly title: string;
  readonly about: string;
  readonly x: number;
  readonly y: number;
}

/** A line from the right side of one box to the left side of another. */
export interface Line {
  readonly path: string;
  readonly kind: LineageEdge_Kind;
}

export interface Drawing {
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

export const boxWidth = 190;
export const boxHeight = 46;
const gapX = 70;
const gapY = 16;

/**
 * Data flow from left to right. A node stands right of everything that it comes from, as far left as that allows; nodes of a
 * column keep their order.
 */
export function layout({ nodes, edges }: Pick<GetLineageResponse, "nodes" | "edges">): Drawing {
  const columns = columnsOf(nodes.length, edges);
  const filled = new Map<number, number>();
  const boxes = nodes.map((node, at): Box => {
    const column = columns[at] ?? 0;
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    return { node, ...wordsOf(node), x: column * (boxWidth + gapX), y: row * (boxHeight + gapY) };
  });
  const lines = edges.flatMap(({ from, to, kind }): Line[] => {
    const [a, b] = [boxes[from], boxes[to]];
    if (!a || !b) return [];
    const [x1, y1, x2, y2] = [a.x + boxWidth, a.y + boxHeight / 2, b.x, b.y + boxHeight / 2];
    const bend = Math.max(gapX / 2, (x2 - x1) / 2);
    return [{ path: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`, kind }];
  });
  return {
    boxes,
    lines,
    width: Math.max(0, ...boxes.map(({ x }) => x + boxWidth)),
    height: Math.max(0, ...boxes.map(({ y }) => y + boxHeight)),
  };
}

/** The longest way to each node. A graph with a circle, which no server sends, is cut after as many steps as it has nodes. */
function columnsOf(count: number, edges: GetLineageResponse["edges"]): number[] {
  const columns = Array.from({ length: count }, () => 0);
  for (let step = 0, moved = true; moved && step < count; step++) {
    moved = false;
    for (const { from, to } of edges) {
      const after = (columns[from] ?? 0) + 1;
      if (from !== to && to < count && after > (columns[to] ?? 0)) {
        columns[to] = after;
        moved = true;
      }
    }
  }
  return columns;
}

function wordsOf({ subject, missing }: LineageNode): { title: string; about: string } {
  switch (subject.case) {
    case "artifact":
      return { title: subject.value.name?.name ?? "", about: `${missing ? "missing: " : ""}${subject.value.version}` };
    case "run":
      return { title: subject.value.name, about: "run" };
    default:
      return { title: "", about: "" };
  }
}

/** What an edge says, for people. */
export const edgeWords: Readonly<Record<LineageEdge_Kind, string>> = {
  [LineageEdge_Kind.UNSPECIFIED]: "",
  [LineageEdge_Kind.PRODUCED]: "made",
  [LineageEdge_Kind.USED]: "was used by",
  [LineageEdge_Kind.PARENT]: "is a parent of",
};
