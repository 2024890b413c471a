import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { GetLineageResponseSchema, LineageEdge_Kind } from "@gen/flytebinary/insight/v1/artifact_pb.js";
import { boxWidth, layout } from "./layout";

const artifact = (name: string, missing = false) => ({
  subject: { case: "artifact" as const, value: { name: { project: "p", domain: "d", name }, version: "1" } },
  missing,
});
const run = (name: string) => ({ subject: { case: "run" as const, value: { project: "p", domain: "d", name } } });

it("puts every node right of what it comes from", () => {
  const { boxes, lines, width } = layout(
    create(GetLineageResponseSchema, {
      nodes: [artifact("model"), run("train"), artifact("raw"), run("report")],
      edges: [
        { from: 1, to: 0, kind: LineageEdge_Kind.PRODUCED },
        { from: 2, to: 0, kind: LineageEdge_Kind.PARENT },
        { from: 2, to: 1, kind: LineageEdge_Kind.USED },
        { from: 0, to: 3, kind: LineageEdge_Kind.USED },
      ],
    }),
  );
  const order = [...boxes].sort((a, b) => a.x - b.x).map(({ title }) => title);
  expect(order).toEqual(["raw", "train", "model", "report"]);
  expect(lines).toHaveLength(4);
  expect(width).toBe(Math.max(...boxes.map(({ x }) => x)) + boxWidth);
});

it("does not put two nodes on one place", () => {
  const { boxes } = layout(
    create(GetLineageResponseSchema, {
      nodes: [artifact("a"), artifact("b"), run("c")],
      edges: [
        { from: 0, to: 2, kind: LineageEdge_Kind.USED },
        { from: 1, to: 2, kind: LineageEdge_Kind.USED },
      ],
    }),
  );
  expect(new Set(boxes.map(({ x, y }) => `${x} ${y}`)).size).toBe(3);
});

it("puts what a run made and used itself right of the run, and names the tasks that used it", () => {
  const { boxes, lines } = layout(
    create(GetLineageResponseSchema, {
      nodes: [artifact("model"), run("nightly"), artifact("report")],
      edges: [
        { from: 1, to: 0, kind: LineageEdge_Kind.PRODUCED },
        {
          from: 0,
          to: 1,
          kind: LineageEdge_Kind.USED,
          actions: [
            { name: "a0", task: "main" },
            { name: "x1", task: "evaluate" },
            { name: "x2", task: "evaluate" },
            { name: "x3", task: "" },
          ],
        },
        { from: 1, to: 2, kind: LineageEdge_Kind.PRODUCED },
      ],
    }),
  );
  expect(boxes.map(({ x }) => x > 0)).toEqual([true, false, true]);
  expect(boxes[1]?.about).toBe("run, by evaluate, x3");
  expect(lines).toHaveLength(3);
});

it("ends on a circle and ignores edges to nowhere", () => {
  const { boxes, lines } = layout(
    create(GetLineageResponseSchema, {
      nodes: [artifact("a"), artifact("b", true)],
      edges: [
        { from: 0, to: 1, kind: LineageEdge_Kind.PARENT },
        { from: 1, to: 0, kind: LineageEdge_Kind.PARENT },
        { from: 0, to: 9, kind: LineageEdge_Kind.PARENT },
      ],
    }),
  );
  expect(boxes[1]?.about).toBe("missing: 1");
  expect(lines).toHaveLength(2);
});
