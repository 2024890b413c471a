import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { RelationType } from "@gen/flyteidl2/common/run_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSource, type RunDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { PhaseBar } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Span, When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { progressOf } from "@/entities/run/progress";
import { ExpectedEnd } from "@/entities/run/progress-view";
import { RunState } from "@/entities/run/run-state";
import { useSummaries } from "@/entities/run/use-summaries";
import type { RunModel } from "@/entities/run/model/run-model";
import type { RunName } from "@/entities/run/kind";
import { PageStar } from "@/entities/star/star-button";
import { t, tn } from "@/texts/texts";
import { Cost } from "./cost";
import css from "./header.module.css";

export interface HeaderProps {
  readonly run: RunName;
  readonly details: RunDetails | undefined;
  readonly model: RunModel;
  /** What can be done with the run. */
  readonly children: ReactNode;
}

/** How a run was started, after its owner. Sources without an entry are not shown. */
const sources: Partial<Record<RunSource, string>> = {
  [RunSource.WEB]: t("via console"),
  [RunSource.CLI]: t("via CLI or SDK"),
  [RunSource.SCHEDULE_TRIGGER]: t("via schedule"),
  [RunSource.TRACKED]: "tracked",
  [RunSource.ARTIFACT_TRIGGER]: t("via artifact trigger"),
};

const relations: Partial<Record<RelationType, string>> = {
  [RelationType.RERUN]: t("rerun of"),
  [RelationType.RECOVER]: t("recovery of"),
  [RelationType.SPAWN]: t("started by run"),
  [RelationType.TRIGGERED]: t("triggered by"),
  [RelationType.ON_ARTIFACT]: t("triggered by an artifact of"),
};

/** The header of a run: task, phase, duration, name, origin and labels. */
export function Header({ run, details, model, children }: HeaderProps) {
  const root = details?.action;
  const phase = root?.status?.phase ?? (model.size > 0 ? model.phase(0) : ActionPhase.UNSPECIFIED);
  const spec = root?.metadata?.spec;
  // The model has the root before the details arrive, so the page shows a title and a phase at once.
  const title = spec?.case === "task" ? spec.value.shortName || spec.value.id?.name : undefined;
  const started = dateOf(root?.status?.startTime);
  const progress = isLive(phase) ? progressOf(model.counts, phase) : undefined;
  const summary = useSummaries(run, model.complete && isLive(phase) && run.tracked !== true ? [run.name] : [])[run.name];
  const known = root !== undefined || model.size > 0;
  return (
    <header className={css["header"]}>
      <div className={css["first"]}>
        <h1>{title ?? (model.size > 0 ? model.title(0) : run.name)}</h1>
        {run.tracked !== true && <PageStar of={{ project: run.project, domain: run.domain, kind: "run", name: run.name }} />}
        {known && <RunState phase={phase} summary={summary} />}
        {root && (
          <span className={css["time"]}>
            <Span from={started} to={isLive(phase) ? undefined : dateOf(root.status?.endTime)} />
          </span>
        )}
        <div className={css["bar"]}>
          {model.size > 1 && <PhaseBar counts={model.counts} />}
          {progress && (
            <span className={css["done"]} title={tn(progress.all, "{done} of {n} action ended, without the root action", "{done} of {n} actions ended, without the root action", { done: count(progress.done) })}>
              {count(progress.done)} / {count(progress.all)}
            </span>
          )}
          {summary && isLive(phase) && <ExpectedEnd summary={summary} />}
        </div>
        <div className={css["do"]}>{children}</div>
      </div>
      <div className={css["second"]}>
        {known && (
          <span className={css["name"]}>
            {run.name}
            <CopyButton text={run.name} label={t("Copy run name")} />
          </span>
        )}
        {root && <Origin details={details} started={started} />}
        {root && model.complete && <Cost run={run} live={isLive(phase)} />}
      </div>
    </header>
  );
}

/** When, by whom and from what the run was started, and what distinguishes it: version, queue and labels. */
function Origin({ details, started }: { readonly details: RunDetails; readonly started: Date | undefined }) {
  const metadata = details.action?.metadata;
  const who = whoIs(metadata?.executedBy);
  const relation = metadata?.relation;
  const labels = Object.entries(details.runSpec?.labels?.values ?? {});
  const task = metadata?.spec.case === "task" ? metadata.spec.value.id : undefined;
  return (
    <>
      <span>
        <When at={started} />
      </span>
      <span>{[who && t("by {who}", { who }), sources[metadata?.source ?? RunSource.UNSPECIFIED]].filter(Boolean).join(" ")}</span>
      {relation?.relatedTo && (
        <span>
          {relations[relation.relationType] ?? t("related to")}{" "}
          <Link
            to="/domain/$domain/project/$project/runs/$run"
            params={{ project: relation.relatedTo.project, domain: relation.relatedTo.domain, run: relation.relatedTo.name }}
          >
            {relation.relatedTo.name}
          </Link>
        </span>
      )}
      {task?.version && (
        <span className={css["version"]} title={t("{name}, version {version}", { name: task.name, version: task.version })}>
          {t("version {version}", { version: task.version.length > 12 ? `${task.version.slice(0, 12)}…` : task.version })}
        </span>
      )}
      {details.runSpec?.queue && <span>{t("queue {queue}", { queue: details.runSpec.queue })}</span>}
      {labels.map(([key, value]) => (
        <Tag key={key}>
          {key}
          {value && `: ${value}`}
        </Tag>
      ))}
    </>
  );
}
