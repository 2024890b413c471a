import { LineageEdge_Kind, type GetLineageResponse, type LineageAction, type LineageNode } from "@gen/flytebinary/insight/v1/artifact_pb.js";
import { t } from "@/texts/texts";

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
    const used = edges.filter(({ to, kind }) => to === at && kind === LineageEdge_Kind.USED).flatMap(({ actions }) => actions);
    return { node, ...wordsOf(node, used), x: column * (boxWidth + gapX), y: row * (boxHeight + gapY) };
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

/** The longest way to each node, without the edges that close a circle: a run may use a version that it made itself. */
function columnsOf(count: number, edges: GetLineageResponse["edges"]): number[] {
  const onward = Array.from({ length: count }, (_, at) => edges.filter(({ from, to }) => from === at && to < count).map(({ to }) => to));
  const order: number[] = []; // every node after those that come of it
  const state = new Map<number, "open" | "done">();
  const kept: (readonly [number, number])[] = [];
  const visit = (at: number) => {
    state.set(at, "open");
    for (const to of onward[at] ?? []) {
      if (state.get(to) === "open") continue;
      kept.push([at, to]);
      if (!state.has(to)) visit(to);
    }
    state.set(at, "done");
    order.push(at);
  };
  // What a run made begins with the run, so that the edge back to it is the one that closes the circle.
  const made = new Set(edges.filter(({ kind }) => kind === LineageEdge_Kind.PRODUCED).map(({ to }) => to));
  const starts = Array.from({ length: count }, (_, at) => at);
  for (const at of [...starts.filter((each) => !made.has(each)), ...starts]) if (!state.has(at)) visit(at);
  const columns = Array.from({ length: count }, () => 0);
  for (const at of order.reverse()) {
    for (const [from, to] of kept) if (from === at) columns[to] = Math.max(columns[to] ?? 0, (columns[at] ?? 0) + 1);
  }
  return columns;
}

function wordsOf({ subject, missing }: LineageNode, used: readonly LineageAction[]): { title: string; about: string } {
  switch (subject.case) {
    case "artifact":
      return { title: subject.value.name?.name ?? "", about: `${missing ? "missing: " : ""}${subject.value.version}` };
    case "run":
      return { title: subject.value.name, about: usedBy(used) ? t("run, by {who}", { who: usedBy(used) }) : "run" };
    case "app":
      return { title: subject.value.name, about: "app" };
    default:
      return { title: "", about: "" };
  }
}

/** The tasks of the actions that used a version, each once; the root action is the run itself. */
export const usedBy = (actions: readonly LineageAction[]): string =>
  [...new Set(actions.filter(({ name }) => name !== "a0").map(({ name, task }) => task || name))].join(", ");

/** What an edge says, for people. */
export const edgeWords: Readonly<Record<LineageEdge_Kind, string>> = {
  [LineageEdge_Kind.UNSPECIFIED]: "",
  [LineageEdge_Kind.PRODUCED]: "made",
  [LineageEdge_Kind.USED]: t("was used by"),
  [LineageEdge_Kind.PARENT]: t("is a parent of"),
};
