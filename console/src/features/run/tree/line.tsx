import { ChevronDown, ChevronRight, CirclePause, Footprints, Zap } from "lucide-react";
import { memo } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { count, duration } from "@/design/format";
import { Phase, PhaseBar, type PhaseCounts } from "@/design/phase";
import { t } from "@/texts/texts";
import css from "./tree.module.css";

/** Plain values, so that an unchanged line is not rendered again. */
export interface LineProps {
  readonly id: string;
  readonly top: number;
  readonly depth: number;
  readonly title: string;
  /** What tells it apart from its siblings; empty if nothing is known to. */
  readonly identity: string;
  /** Undefined for a group. */
  readonly phase: ActionPhase | undefined;
  readonly kind: "task" | "trace" | "condition" | "group";
  /** Undefined if it has no children. */
  readonly open: boolean | undefined;
  readonly below: PhaseCounts | undefined;
  readonly failures: number;
  readonly attempt: number;
  readonly cached: boolean;
  /** The cluster that has it, where it is not that of its parent; else empty. */
  readonly cluster: string;
  /** In milliseconds; -1 if it has not started. */
  readonly duration: number;
  readonly selected: boolean;
  readonly current: boolean;
  /** Whether it is shown only because a descendant matches. */
  readonly pale: boolean;
  readonly node: number;
  readonly onToggle: (node: number) => void;
  readonly onPick: (node: number) => void;
}

const sum = (counts: PhaseCounts): number => [...counts.values()].reduce((a, b) => a + b, 0);

export const Line = memo(function Line(line: LineProps) {
  const { node, open, below, onToggle, onPick } = line;
  return (
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the tree handles the keys
    <div
      id={line.id}
      role="treeitem"
      aria-level={line.depth + 1}
      aria-selected={line.selected}
      aria-expanded={open}
      className={css["line"]}
      data-current={line.current || undefined}
      data-pale={line.pale || undefined}
      style={{ transform: `translateY(${line.top}px)`, paddingLeft: `calc(${Math.min(line.depth, 24)} * var(--indent) + var(--space-1))` }}
      onClick={() => onPick(node)}
    >
      {open === undefined ? (
        <span className={css["caret"]} />
      ) : (
        // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions -- the arrow keys do it
        <span
          className={css["caret"]}
          onClick={(event) => {
            event.stopPropagation();
            onToggle(node);
          }}
        >
          {open ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
        </span>
      )}
      {line.phase !== undefined && <Phase phase={line.phase} compact />}
      <span className={css["title"]}>{line.title}</span>
      {line.identity !== "" && (
        <span className={css["identity"]} title={line.identity}>
          {line.identity}
        </span>
      )}
      {line.kind === "trace" && <Footprints size={13} aria-label={t("trace")} className={css["sign"]} />}
      {line.kind === "condition" && <CirclePause size={13} aria-label={t("condition")} className={css["sign"]} />}
      {line.cached && <Zap size={13} aria-label={t("cached")} className={css["sign"]} />}
      {line.cluster !== "" && <span className={css["note"]}>{t("in {cluster}", { cluster: line.cluster })}</span>}
      {line.attempt > 1 && <span className={css["note"]}>{t("attempt {attempt}", { attempt: line.attempt })}</span>}
      {below && open === false && (
        <span className={css["below"]}>
          <span className={css["note"]}>{count(sum(below))}</span>
          <PhaseBar counts={below} />
          {line.failures > 0 && <span className={css["failures"]}>{t("{failures} failed", { failures: count(line.failures) })}</span>}
        </span>
      )}
      {below && open && line.kind === "group" && <span className={css["note"]}>{count(sum(below))}</span>}
      <span className={css["duration"]}>{line.duration >= 0 ? duration(line.duration) : ""}</span>
    </div>
  );
});
