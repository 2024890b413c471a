import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useSyncExternalStore, type KeyboardEvent } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { client } from "@/api/transport";
import { count } from "@/design/format";
import { Loading } from "@/design/notice";
import { none, type RunModel } from "@/entities/run/model/run-model";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import { Graph, type Shown } from "./controller";
import { Edges } from "./edge";
import type { Edge } from "./edges";
import { listen, press } from "./input";
import { Node, nodeElement } from "./node";
import { maxNodes, type GraphNode } from "./picture";
import { sourceOf } from "@/entities/run/kind";
import { Toolbar } from "./toolbar";
import css from "./graph.module.css";

export interface GraphViewProps {
  readonly run: RunName;
  readonly model: RunModel;
  readonly version: number;
  readonly selected: string;
  readonly onSelect: (name: string) => void;
  readonly visible: (row: number) => boolean;
}

/** The actions of a run as a graph of parents, children and data flow. */
export function GraphView({ run, model, version, selected, onSelect, visible }: GraphViewProps) {
  const graph = useGraph(run, model);
  const shown = useSyncExternalStore(graph.subscribe, () => graph.shown);
  const frame = useRef<HTMLDivElement>(null);
  const world = useRef<HTMLDivElement>(null);
  // A ref, because new listeners for each render would interrupt a drag.
  const choose = useRef(onSelect);
  useEffect(() => {
    choose.current = onSelect;
  });
  const chooseNode = useCallback(
    (id: string) => {
      const node = graph.shown.picture.byId.get(id);
      graph.point(id);
      if (node?.kind === "action") choose.current(model.name(node.row));
    },
    [graph, model],
  );
  const toggle = useCallback(
    (id: string) => {
      const node = graph.shown.picture.byId.get(id);
      if (node) graph.toggle(node);
    },
    [graph],
  );
  useLayoutEffect(() => {
    if (!frame.current || !world.current) return;
    const stops = [graph.attach({ frame: frame.current, world: world.current }), listen(frame.current, graph, { choose: chooseNode, toggle })];
    return () => stops.forEach((stop) => stop());
  }, [graph, chooseNode, toggle]);
  useEffect(() => graph.update(visible), [graph, version, visible]);
  // The row of a name is known only once its part of the run has come.
  const row = useMemo(() => (version < 0 ? none : model.row(selected)), [model, selected, version]);
  useEffect(() => graph.select(row), [graph, row]);

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const meant = press(graph, event.key);
    if (meant === undefined) return;
    event.preventDefault();
    if (meant === "done") return;
    if ("go" in meant) graph.point(meant.go);
    else if ("toggle" in meant) toggle(meant.toggle);
    else chooseNode(meant.choose);
  };
  const { picture, layout, cursor } = shown;
  return (
    <div className={css["graph"]} data-testid="graph">
      <Toolbar graph={graph} shown={shown} />
      {shown.failure !== undefined && (
        <p className={css["note"]} role="status">
          {t("Showing a simple tree layout, because the graph layout failed: {failure}.", { failure: shown.failure })}
        </p>
      )}
      {picture.full && (
        <p className={css["note"]} role="status">
          {t("Showing the maximum of {maxNodes} nodes. Collapse nodes to see others.", { maxNodes: count(maxNodes) })}
        </p>
      )}
      <div
        ref={frame}
        className={css["frame"]}
        role="tree"
        tabIndex={0}
        aria-label={t("Graph of {size} actions", { size: count(model.size) })}
        aria-describedby="graph-keys"
        aria-busy={shown.busy}
        aria-activedescendant={picture.byId.has(cursor) ? nodeElement(cursor) : undefined}
        onKeyDown={keyDown}
      >
        <div ref={world} className={css["world"]} role="presentation" style={{ width: layout.width, height: layout.height }}>
          <Edges edges={shown.edges} routes={layout.routes} width={layout.width} height={layout.height} near={cursor} className={css["edges"]} />
          <Nodes model={model} shown={shown} selected={selected} />
        </div>
        {picture.nodes.length === 0 && (
          <div className={css["loading"]}>
            <Loading what={t("graph")} />
          </div>
        )}
      </div>
      <p id="graph-keys" className="visually-hidden">
        {t("Up and down move between nodes, right and left expand and collapse, enter selects an action, plus and minus zoom, zero fits the graph.")}
      </p>
    </div>
  );
}

function Nodes({ model, shown, selected }: { readonly model: RunModel; readonly shown: Shown; readonly selected: string }) {
  const { picture, layout, edges, cursor } = shown;
  const taken = useMemo(() => {
    const byNode = new Map<string, Edge[]>();
    for (const edge of edges) if (edge.kind === "data") byNode.set(edge.to, [...(byNode.get(edge.to) ?? []), edge]);
    return byNode;
  }, [edges]);
  return picture.nodes.map((node) => {
    const at = layout.places.get(node.id);
    if (!at) return null;
    return (
      <Node
        key={node.id}
        model={model}
        node={node}
        at={at}
        picture={picture}
        taken={taken.get(node.id)}
        mark={markOf(model, node)}
        cursor={node.id === cursor}
        selected={node.kind === "action" && model.name(node.row) === selected}
      />
    );
  });
}

/** Changes with what a node shows of its action: the model changes in place, so React cannot see it. */
const markOf = (model: RunModel, node: GraphNode): string =>
  node.kind === "action" ? `${model.phase(node.row)}.${model.attempt(node.row)}.${model.started(node.row)}.${model.ended(node.row)}` : "";

/** Created once for each run: it keeps the layout, the zoom and what is expanded. */
function useGraph(run: RunName, model: RunModel): Graph {
  const { project, domain, name } = run;
  const runSource = sourceOf(run);
  return useMemo(
    () =>
      new Graph(model, (parent, signal) =>
        client(InsightService).listDataFlow({ actionId: { run: { project, domain, name }, name: parent }, runSource }, { signal }),
      ),
    [model, project, domain, name, runSource],
  );
}
