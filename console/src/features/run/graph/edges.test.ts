import Elk from "elkjs/lib/elk.bundled";
import { expect, it } from "vitest";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { atOnce } from "@/features/run/pacing/chunks";
import { pathOf } from "./edge";
import { edgesOf, type Flow } from "./edges";
import { Folds } from "./folds";
import { elkLayout, heightOf, nodeWidth, treeLayout } from "./layout";
import { pictureOf } from "./picture";

const flow = (from: string, to: string, variable = "x"): Flow => ({ from, to, variable });
const made = (flows: readonly Flow[], trains = 2, folds = new Folds()) => {
  const model = modelOf([
    { name: "a0", title: "main" },
    { name: "l", parent: "a0", title: "load" },
    ...Array.from({ length: trains }, (_, i) => ({ name: `t${i}`, parent: "a0", title: "train" })),
    { name: "s", parent: "a0", title: "score" },
  ]);
  const picture = atOnce(pictureOf(model, () => true, folds));
  return { model, picture, edges: edgesOf(model, picture, (row) => (row === 0 ? flows : [])) };
};
const told = (edges: readonly { from: string; to: string; kind: string }[]) => edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`);

it("hangs what takes data behind what made it, and the others below their parent", () => {
  const { edges } = made([flow("l", "t0"), flow("l", "t1"), flow("t0", "s", "model")]);
  expect(told(edges)).toEqual(["a:a0 child a:l", "a:l data a:t0", "a:l data a:t1", "a:t0 data a:s"]);
});

it("joins groups once, with all that went between them, and not with themselves", () => {
  const { edges } = made(
    [...Array.from({ length: 30 }, (_, i) => flow("l", `t${i}`, i % 2 ? "x" : "y")), flow("t1", "t2"), flow("t3", "s", "m"), flow("gone", "s")],
    30,
  );
  const data = edges.filter((edge) => edge.kind === "data");
  expect(told(data)).toEqual(["a:l data g:a0//train", "g:a0//train data a:s"]);
  expect(data[0]?.variables).toEqual(["y", "x"]);
});

it("leads to an open group as a whole what many in it took, and to its members what few did", () => {
  const folds = new Folds();
  folds.set("g:a0//train", true);
  const all = Array.from({ length: 20 }, (_, i) => flow("l", `t${i}`));
  const { edges } = made([...all, flow("s", "t1", "hint"), flow("t1", "t2", "chain")], 20, folds);
  expect(told(edges.filter((edge) => edge.kind === "data"))).toEqual(["a:l data g:a0//train", "a:s data a:t1", "a:t1 data a:t2"]);
  expect(told(edges.filter((edge) => edge.from === "a:a0"))).toEqual(["a:a0 child a:l", "a:a0 child a:s"]);
});

it("lets nothing hang in the air when data go round in a circle", () => {
  const { edges } = made([flow("l", "s"), flow("s", "l")]);
  expect(told(edges).filter((edge) => edge.includes("child"))).toEqual(["a:a0 child a:t0", "a:a0 child a:t1", "a:a0 child a:l"]);
});

it("is laid out so that nothing lies on anything else, and data go to the right", async () => {
  const { picture, edges } = made([flow("l", "t0"), flow("l", "t1"), flow("t0", "s"), flow("t1", "s")]);
  for (const layout of [await elkLayout(new Elk(), picture, edges), treeLayout(picture, edges)]) {
    const boxes = picture.nodes.map((node) => ({ ...(layout.places.get(node.id) ?? { x: Number.NaN, y: Number.NaN }), height: heightOf(node) }));
    boxes.forEach((a, i) => {
      expect(a.x).toBeGreaterThanOrEqual(0);
      for (const b of boxes.slice(i + 1)) expect(a.x + nodeWidth <= b.x || b.x + nodeWidth <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(true);
    });
    for (const edge of edges) expect(layout.routes.get(edge.id)?.length).toBeGreaterThan(1);
  }
  const layout = await elkLayout(new Elk(), picture, edges);
  const x = (id: string) => layout.places.get(id)?.x ?? 0;
  expect([x("a:a0") < x("a:l"), x("a:l") < x("a:t0"), x("a:t0") === x("a:t1"), x("a:t1") < x("a:s")]).toEqual([true, true, true, true]);
});

it("draws lines with rounded corners", () => {
  expect(pathOf([])).toBe("");
  expect(
    pathOf([
      { x: 0, y: 0 },
      { x: 10, y: 0 },
    ]),
  ).toBe("M0 0L10 0");
  expect(
    pathOf([
      { x: 0, y: 0 },
      { x: 40, y: 0 },
      { x: 40, y: 40 },
    ]),
  ).toBe("M0 0L32 0Q40 0 40 8L40 40");
});
