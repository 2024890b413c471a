import { Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import type { ReactNode } from "react";
import { Button, IconButton } from "@/design/button";
import { t } from "@/texts/texts";
import css from "./drawing.module.css";

export interface ToolbarProps {
  readonly label: string;
  readonly zoom: (factor: number) => void;
  /** The zoom factor of a step. */
  readonly step: number;
  readonly fit: () => void;
  /** What is visible after fit, for the tooltip. */
  readonly everything: string;
  /** Whether everything is visible already. */
  readonly fits?: boolean;
  /** More buttons. */
  readonly children: ReactNode;
  /** The items of the legend. */
  readonly legend: ReactNode;
}

/** The toolbar of a drawing: zoom, more buttons and the legend. */
export function Toolbar({ label, zoom, step, fit, everything, fits = false, children, legend }: ToolbarProps) {
  return (
    <div className={css["toolbar"]} role="toolbar" aria-label={label}>
      <IconButton small label={t("Zoom out (−)")} onClick={() => zoom(1 / step)} disabled={fits}>
        <ZoomOut size={16} aria-hidden />
      </IconButton>
      <IconButton small label={t("Zoom in (+)")} onClick={() => zoom(step)}>
        <ZoomIn size={16} aria-hidden />
      </IconButton>
      <Button small kind="quiet" onClick={fit} disabled={fits} title={t("Show {what} (0)", { what: everything })}>
        <Maximize2 size={14} aria-hidden /> {t("Fit")}
      </Button>
      {children}
      <ul className={css["legend"]} aria-label={t("Legend")}>
        {legend}
      </ul>
    </div>
  );
}
