import { useParams } from "@tanstack/react-router";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight } from "lucide-react";
import type { RunFold } from "@gen/flytebinary/insight/v1/runs_pb.js";
import { count } from "@/design/format";
import { isFailure } from "@/design/phases";
import { t } from "@/texts/texts";
import type { Column, RunFacts } from "./columns";
import { outcomeOf, sizeOf, titleOfFold, type Line } from "./folds";
import { shownOfFold } from "./use-folds";
import css from "./list.module.css";

export interface FoldRowProps {
  readonly line: Exclude<Line, { kind: "run" }>;
  readonly item: { readonly index: number; readonly start: number };
  readonly measure: (row: HTMLElement | null) => void;
  readonly columns: readonly Column[];
  readonly facts: RunFacts;
  readonly onFocus: (key: string) => void;
  readonly onToggle: (fold: string) => void;
  readonly onAll: (fold: RunFold) => void;
}

/** The columns of a fold that show its newest run. */
const ofLatest: ReadonlySet<string> = new Set(["phase", "started", "ended", "duration", "task", "version", "environment", "trigger"]);

/** The runs of a trigger as one line, with its newest run in the columns; or, below an open one, the way to the runs that are not shown. */
export function FoldRow({ line, item, measure, columns, facts, onFocus, onToggle, onAll }: FoldRowProps) {
  const { fold, key } = line;
  return (
    <div
      role="row"
      ref={measure}
      data-index={item.index}
      aria-rowindex={item.index + 2}
      data-testid="fold-row"
      data-name={fold.trigger?.name}
      className={`${css["row"] ?? ""} ${css["item"] ?? ""}`}
      style={{ transform: `translateY(${item.start}px)` }}
      onFocus={() => onFocus(key)}
    >
      <span role="cell" className={css["check"]} />
      {line.kind === "rest" ? (
        <span role="cell" className={`${css["cell"] ?? ""} ${css["rest"] ?? ""}`}>
          <button type="button" className={css["fold"]} data-run={key} onClick={() => onAll(fold)}>
            {t("All runs of {name}", { name: fold.trigger?.name })}
          </button>
          {t("The latest {min} are shown.", { min: count(Math.min(shownOfFold, sizeOf(fold))) })}
        </span>
      ) : (
        columns.map((column) => (
          <span key={column.key} role="cell" className={css["cell"]} data-column={column.key}>
            {column.key === "run" ? (
              <Title fold={fold} open={line.open} id={key} onToggle={onToggle} />
            ) : (
              ofLatest.has(column.key) && fold.latest && column.cell(fold.latest, facts)
            )}
          </span>
        ))
      )}
    </div>
  );
}

interface TitleProps {
  readonly fold: RunFold;
  readonly open: boolean;
  readonly id: string;
  readonly onToggle: (fold: string) => void;
}

function Title({ fold, open, id, onToggle }: TitleProps) {
  const { project = "", domain = "" } = useParams({ strict: false });
  const bad = fold.counts.some(({ phase }) => isFailure(phase));
  const Icon = open ? ChevronDown : ChevronRight;
  const run = fold.latest?.action?.id?.run?.name;
  return (
    <>
      <button type="button" className={css["fold"]} data-run={id} aria-expanded={open} onClick={() => onToggle(id)}>
        <Icon size={14} aria-hidden />
        {titleOfFold(fold)}
      </button>
      <span className={bad ? css["bad"] : css["good"]}>{outcomeOf(fold)}</span>
      {run !== undefined && (
        <span className={css["name"]}>
          <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run }}>
            {run}
          </Link>
        </span>
      )}
    </>
  );
}
