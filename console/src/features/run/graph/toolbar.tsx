import { ListCollapse, Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import { Button, IconButton } from "@/design/button";
import type { Graph, Shown } from "./controller";
import css from "./graph.module.css";

export function Toolbar({ graph, shown }: { readonly graph: Graph; readonly shown: Shown }) {
  const data = shown.edges.some((edge) => edge.kind === "data");
  return (
    <div className={css["toolbar"]} role="toolbar" aria-label="Graph">
      <IconButton small label="Zoom out (−)" onClick={() => graph.zoom(1 / 1.25)}>
        <ZoomOut size={16} aria-hidden />
      </IconButton>
      <IconButton small label="Zoom in (+)" onClick={() => graph.zoom(1.25)}>
        <ZoomIn size={16} aria-hidden />
      </IconButton>
      <Button small kind="quiet" onClick={() => graph.fit()} title="Show the whole graph (0)">
        <Maximize2 size={14} aria-hidden /> Fit
      </Button>
      <Button small kind="quiet" onClick={() => graph.foldAll()}>
        <ListCollapse size={14} aria-hidden /> Fold all
      </Button>
      <ul className={css["legend"]} aria-label="Legend">
        <li data-kind="child">Started by</li>
        {data && <li data-kind="data">Takes data from{shown.truncated && " (only of the first children)"}</li>}
      </ul>
    </div>
  );
}
