import { Maximize2, Rows3, Rows4, Waypoints, ZoomIn, ZoomOut } from "lucide-react";
import { Button, IconButton } from "@/design/button";
import type { Rows, Timeline } from "./controller";
import css from "./timeline.module.css";

export interface ToolbarProps {
  readonly timeline: Timeline;
  readonly all: boolean;
  readonly rows: Rows;
  readonly onRows: (rows: Rows) => void;
  readonly path: boolean;
  readonly onPath: (path: boolean) => void;
}

export function Toolbar({ timeline, all, rows, onRows, path, onPath }: ToolbarProps) {
  return (
    <div className={css["toolbar"]} role="toolbar" aria-label="Timeline">
      <IconButton small label="Zoom out (−)" onClick={() => timeline.zoom(1 / 1.5)} disabled={all}>
        <ZoomOut size={16} aria-hidden />
      </IconButton>
      <IconButton small label="Zoom in (+)" onClick={() => timeline.zoom(1.5)}>
        <ZoomIn size={16} aria-hidden />
      </IconButton>
      <Button small kind="quiet" onClick={() => timeline.fit()} disabled={all} title="Show the whole time (0)">
        <Maximize2 size={14} aria-hidden /> Fit
      </Button>
      <IconButton small label={rows === "roomy" ? "Thinner rows" : "Roomier rows"} onClick={() => onRows(rows === "roomy" ? "compact" : "roomy")}>
        {rows === "roomy" ? <Rows4 size={16} aria-hidden /> : <Rows3 size={16} aria-hidden />}
      </IconButton>
      <Button small kind="quiet" aria-pressed={path} className={css["pressable"]} onClick={() => onPath(!path)}>
        <Waypoints size={14} aria-hidden /> Why slow
      </Button>
      <Legend />
    </div>
  );
}

const legend = [
  ["queued", "Queued"],
  ["waiting", "Waiting"],
  ["initializing", "Initializing"],
  ["running", "Running"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
  ["path", "Critical path"],
] as const;

/** The forms of the bars. */
function Legend() {
  return (
    <ul className={css["legend"]} aria-label="Legend">
      {legend.map(([form, words]) => (
        <li key={form} data-form={form}>
          {words}
        </li>
      ))}
    </ul>
  );
}
