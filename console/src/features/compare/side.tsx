import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { RunDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { IconButton } from "@/design/button";
import { dateOf } from "@/design/format";
import { Phase } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Tag } from "@/design/facts";
import { Span, When } from "@/design/time";
import { routeOf } from "@/entities/run/kind";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import css from "./compare.module.css";

export interface SideProps {
  readonly run: RunName;
  readonly mark: string;
  readonly details: RunDetails | undefined;
  /** Replaces the run. */
  readonly onDrop: () => void;
}

/** The summary of one of the runs. */
export function Side({ run, mark, details, onDrop }: SideProps) {
  const root = details?.action;
  const phase = root?.status?.phase ?? ActionPhase.UNSPECIFIED;
  const spec = root?.metadata?.spec;
  const started = dateOf(root?.status?.startTime);
  const name = mark.toUpperCase();
  return (
    <article className={css["side"]} aria-label={t("Run {name}", { name })} data-testid={`side-${mark}`}>
      <span className={css["mark"]} aria-hidden>
        {name}
      </span>
      <div className={css["brief"]}>
        <strong>{spec?.case === "task" ? spec.value.shortName || spec.value.id?.name : run.name}</strong>
        <span className={css["line"]}>
          <Link to={routeOf(run)} params={{ project: run.project, domain: run.domain, run: run.name }}>
            {run.name}
          </Link>
          {run.tracked && <Tag>{t("Tracked")}</Tag>}
        </span>
        {root && (
          <span className={css["line"]}>
            <Phase phase={phase} /> <Span from={started} to={isLive(phase) ? undefined : dateOf(root.status?.endTime)} /> <When at={started} />
          </span>
        )}
      </div>
      <IconButton label={t("Change run {name}", { name })} onClick={onDrop}>
        <X size={14} aria-hidden />
      </IconButton>
    </article>
  );
}
