import { ListCollapse } from "lucide-react";
import { Button } from "@/design/button";
import { Toolbar as DrawingToolbar } from "@/features/run/drawing/toolbar";
import { t } from "@/texts/texts";
import type { Graph, Shown } from "./controller";
import css from "./graph.module.css";

export function Toolbar({ graph, shown }: { readonly graph: Graph; readonly shown: Shown }) {
  return (
    <DrawingToolbar
      label={t("Graph")}
      zoom={(factor) => graph.zoom(factor)}
      step={1.25}
      fit={() => graph.fit()}
      everything={t("the whole graph")}
      legend={<Legend shown={shown} />}
    >
      <Button small kind="quiet" onClick={() => graph.foldAll()}>
        <ListCollapse size={14} aria-hidden /> {t("Collapse all")}
      </Button>
    </DrawingToolbar>
  );
}

/** The kinds of edges. */
function Legend({ shown }: { readonly shown: Shown }) {
  return (
    <>
      <li className={css["kind"]}>{t("Parent")}</li>
      {shown.edges.some((edge) => edge.kind === "data") && (
        <li className={css["kind"]} data-kind="data">
          {t("Data from")}{shown.truncated && ` ${t("(first children only)")}`}
        </li>
      )}
    </>
  );
}
