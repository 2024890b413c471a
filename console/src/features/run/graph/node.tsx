import { ChevronDown, ChevronRight, Plus } from "lucide-react";
import { memo, type CSSProperties } from "react";
import { count } from "@/design/format";
import { Phase, PhaseBar } from "@/design/phase";
import { lookOf, phases } from "@/design/phases";
import type { RunModel } from "@/entities/run/model/run-model";
import { t } from "@/texts/texts";
import type { Edge } from "./edges";
import { heightOf, nodeWidth, type Point } from "./layout";
import type { GraphNode, Picture } from "./picture";
import { countsOf, describe, nameOf, stateOf } from "./words";
import css from "./graph.module.css";

export interface NodeProps {
  readonly model: RunModel;
  readonly node: GraphNode;
  readonly at: Point;
  readonly picture: Picture;
  /** The data edges that end here. */
  readonly taken: readonly Edge[] | undefined;
  /** The visible state of an action: the node is rendered again when it changes. */
  readonly mark: string;
  readonly cursor: boolean;
  readonly selected: boolean;
}

export const nodeElement = (id: string): string => `graph-${id}`;

/** A node of the graph. The frame of the graph handles pointer and keys. */
export const Node = memo(function Node({ model, node, at, picture, taken, cursor, selected }: NodeProps) {
  return (
    <div
      id={nodeElement(node.id)}
      role="treeitem"
      tabIndex={-1}
      className={css["node"]}
      data-node={node.id}
      data-kind={node.kind}
      data-cursor={cursor || undefined}
      data-fold={node.kind === "more" ? "" : undefined}
      aria-level={node.level}
      aria-posinset={node.place}
      aria-setsize={node.places}
      aria-expanded={node.kind === "group" || (node.kind === "action" && node.below > 0) ? node.open : undefined}
      aria-selected={selected}
      style={{ width: nodeWidth, height: heightOf(node), transform: `translate(${at.x}px, ${at.y}px)`, ...colourOf(model, node) }}
    >
      <span className="visually-hidden">{describe(model, picture, node, taken ?? [])}</span>
      <span className={css["content"]} aria-hidden>
        {node.kind === "action" && (
          <>
            <span className={css["title"]}>
              <Phase phase={model.phase(node.row)} compact />
              <span className={css["name"]}>{nameOf(model, node)}</span>
            </span>
            <span className={css["state"]}>{stateOf(model, node.row)}</span>
            {node.below > 0 && <Fold open={node.open} below={node.below} />}
          </>
        )}
        {node.kind === "group" && (
          <>
            <span className={css["title"]}>
              <span className={css["name"]}>{nameOf(model, node)}</span>
            </span>
            <span className={css["state"]} title={countsOf(node)}>
              {node.failures > 0 ? <b className={css["failed"]}>{t("{failures} failed", { failures: count(node.failures) })}</b> : countsOf(node)}
              {node.group !== "" && ` · ${node.group}`}
            </span>
            <PhaseBar counts={node.phases} />
            <Fold open={node.open} />
          </>
        )}
        {node.kind === "more" && (
          <span className={css["title"]} title={node.full ? t("Too many nodes to draw. Collapse some, or use the actions view.") : undefined}>
            {!node.full && <Plus size={14} aria-hidden />}
            <span className={css["name"]}>{nameOf(model, node)}</span>
          </span>
        )}
      </span>
    </div>
  );
});

/** The color of the phase; for a group that of its most severe phase. */
function colourOf(model: RunModel, node: GraphNode): CSSProperties | undefined {
  if (node.kind === "more") return undefined;
  const look = node.kind === "action" ? lookOf(model.phase(node.row)) : phases.find(({ phase }) => (node.phases.get(phase) ?? 0) > 0);
  return look && { ["--colour" as string]: `var(${look.colour})` };
}

/** Expands and collapses a node by pointer; the keyboard has keys for it. */
function Fold({ open, below }: { readonly open: boolean; readonly below?: number }) {
  return (
    <span className={css["fold"]} data-fold="" title={open ? t("Collapse") : t("Expand")}>
      {below !== undefined && count(below)}
      {open ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
    </span>
  );
}
