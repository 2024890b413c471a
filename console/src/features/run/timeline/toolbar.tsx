import { Rows3, Rows4, Waypoints } from "lucide-react";
import { Button, IconButton } from "@/design/button";
import { Toolbar as DrawingToolbar } from "@/features/run/drawing/toolbar";
import { t } from "@/texts/texts";
import type { Timeline } from "./controller";
import type { Rows } from "./viewport";
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
    <DrawingToolbar
      label={t("Timeline")}
      zoom={(factor) => timeline.zoom(factor)}
      step={1.5}
      fit={() => timeline.fit()}
      everything={t("the whole run")}
      fits={all}
      legend={<Legend />}
    >
      <IconButton small label={rows === "roomy" ? t("Compact rows") : t("Normal rows")} onClick={() => onRows(rows === "roomy" ? "compact" : "roomy")}>
        {rows === "roomy" ? <Rows4 size={16} aria-hidden /> : <Rows3 size={16} aria-hidden />}
      </IconButton>
      <Button small kind="quiet" aria-pressed={path} className={css["pressable"]} onClick={() => onPath(!path)}>
        <Waypoints size={14} aria-hidden /> {t("Why slow")}
      </Button>
    </DrawingToolbar>
  );
}

const legend = [
  ["queued", t("Queued")],
  ["waiting", t("Waiting")],
  ["initializing", t("Initializing")],
  ["running", t("Running")],
  ["succeeded", t("Succeeded")],
  ["failed", t("Failed")],
  ["path", t("Critical path")],
] as const;

/** The shapes of the bars. */
function Legend() {
  return legend.map(([form, words]) => (
    <li key={form} className={css["form"]} data-form={form}>
      {words}
    </li>
  ));
}
