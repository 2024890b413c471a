import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import type { RunSummary } from "@gen/flytebinary/insight/v1/runs_pb.js";
import { RelationType } from "@gen/flyteidl2/common/run_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { read, write } from "@/app/storage";
import { dateOf } from "@/design/format";
import { Tag } from "@/design/facts";
import { isLive } from "@/design/phases";
import { Span, When } from "@/design/time";
import { ClusterLink } from "@/entities/access/cluster-link";
import { whoIs } from "@/entities/person/who-is";
import { isTracked, keyOf, nameOf, ownerOf, phaseOf, triggerOf } from "@/entities/run/listed";
import { routeOf } from "@/entities/run/kind";
import { RunProgress } from "@/entities/run/progress-view";
import { quoted } from "@/entities/run/query/quoted";
import { RunState } from "@/entities/run/run-state";
import { t } from "@/texts/texts";
import type { Sort } from "./search";
import { sources } from "./sources";
import type { RunClusters } from "./use-clusters";
import { titleOf } from "@/entities/action/title";
import { StarButton } from "@/entities/star/star-button";
import type { useStars } from "@/entities/star/use-stars";
import css from "./list.module.css";

/** What the list knows of runs besides what the server lists. */
export interface RunFacts extends RunClusters {
  /** The first line of the error of a failed run. */
  readonly errorOf: (run: Run) => string | undefined;
  /** How far unfinished runs are, by the name of the run. */
  readonly summaries: Readonly<Record<string, RunSummary>>;
  readonly stars: ReturnType<typeof useStars>;
  /** Adds a condition to the query. */
  readonly onCondition: (condition: string) => void;
}

/** A column of the list of runs. */
export interface Column {
  readonly key: string;
  readonly label: string;
  /** Its minimum width in rem, and its share of the remaining space. */
  readonly width: readonly [min: number, share: number];
  /** The two orders that its header toggles. */
  readonly sorts?: readonly [Sort, Sort];
  readonly cell: (run: Run, more: RunFacts) => ReactNode;
}

const task = (run: Run) => {
  const spec = run.action?.metadata?.spec;
  return spec?.case === "task" ? spec.value : undefined;
};

/** A value that becomes a condition of the query. */
function Filter({ condition, text, onCondition }: { readonly condition: string; readonly text: string; readonly onCondition: (condition: string) => void }) {
  if (text === "") return null;
  return (
    <button type="button" className={css["value"]} title={t("Show only {condition}", { condition })} onClick={() => onCondition(condition)}>
      {text}
    </button>
  );
}

const relations: Readonly<Partial<Record<RelationType, string>>> = { [RelationType.RERUN]: t("Rerun of"), [RelationType.RECOVER]: t("Recovery of") };

/** All columns in order. The run column is always shown. */
export const columns: readonly Column[] = [
  {
    key: "run",
    label: t("Run"),
    width: [17, 3],
    cell: (run, { errorOf, stars }) => {
      const id = run.action?.id?.run;
      const tracked = isTracked(run);
      const error = errorOf(run);
      return (
        <>
          <span className={css["named"]}>
            <Link
              className={css["link"]}
              data-run={keyOf(run)}
              to={routeOf({ tracked })}
              params={{ domain: id?.domain ?? "", project: id?.project ?? "", run: id?.name ?? "" }}
            >
              {run.action && titleOf(run.action)}
            </Link>
            <span className={css["name"]}>{id?.name}</span>
            {tracked && <Tag>{t("Tracked")}</Tag>}
            {!tracked && id && <StarButton of={{ project: id.project, domain: id.domain, kind: "run", name: id.name }} stars={stars} />}
          </span>
          {error !== undefined && (
            <span className={css["error"]} title={error} data-testid="run-error">
              {error}
            </span>
          )}
        </>
      );
    },
  },
  { key: "phase", label: t("Phase"), width: [12, 1], cell: (run, { summaries }) => <RunState phase={phaseOf(run)} summary={isTracked(run) ? undefined : summaries[nameOf(run)]} /> },
  {
    key: "progress",
    label: t("Progress"),
    width: [9, 0.8],
    cell: (run, { summaries }) => !isTracked(run) && <RunProgress summary={summaries[nameOf(run)]} phase={phaseOf(run)} />,
  },
  { key: "started", label: t("Started"), width: [9.5, 0.6], sorts: ["newest", "oldest"], cell: (run) => <When at={dateOf(run.action?.status?.startTime)} /> },
  { key: "ended", label: t("Ended"), width: [9.5, 0.6], cell: (run) => (isLive(phaseOf(run)) ? "" : <When at={dateOf(run.action?.status?.endTime)} />) },
  {
    key: "duration",
    label: t("Duration"),
    width: [6.5, 0.5],
    sorts: ["longest", "shortest"],
    cell: (run) => <Span from={dateOf(run.action?.status?.startTime)} to={isLive(phaseOf(run)) ? undefined : dateOf(run.action?.status?.endTime)} />,
  },
  {
    key: "owner",
    label: t("Owner"),
    width: [7, 0.8],
    cell: (run, { onCondition }) => <Filter condition={`owner:${quoted(ownerOf(run))}`} text={whoIs(run.action?.metadata?.executedBy)} onCondition={onCondition} />,
  },
  {
    key: "cluster",
    label: t("Cluster"),
    width: [7, 0.6],
    cell: (run, { of }) => {
      const cluster = isTracked(run) ? undefined : of[nameOf(run)];
      return cluster !== undefined && <ClusterLink name={cluster} />;
    },
  },
  { key: "source", label: t("Source"), width: [7, 0.6], cell: (run) => sources.find(([, source]) => source === run.action?.metadata?.source)?.[2] ?? "" },
  {
    key: "labels",
    label: t("Labels"),
    width: [10, 1.5],
    cell: (run, { onCondition }) =>
      Object.entries(run.labels)
        .sort()
        .map(([key, value]) => (
          <Tag key={key}>
            <Filter condition={`label:${quoted(`${key}=${value}`)}`} text={`${key}=${value}`} onCondition={onCondition} />
          </Tag>
        )),
  },
  { key: "task", label: t("Full task name"), width: [12, 1.5], cell: (run) => task(run)?.id?.name },
  { key: "version", label: t("Version"), width: [8, 0.8], cell: (run) => <span className={css["name"]}>{task(run)?.id?.version}</span> },
  { key: "environment", label: t("Environment"), width: [8, 0.8], cell: (run) => run.action?.metadata?.environmentName },
  { key: "trigger", label: t("Trigger"), width: [8, 0.8], cell: triggerOf },
  {
    key: "relation",
    label: t("Source run"),
    width: [12, 0.8],
    cell: (run) => {
      const relation = run.action?.metadata?.relation;
      const id = relation?.relatedTo;
      return (
        id && (
          <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: id.domain, project: id.project, run: id.name }}>
            {relations[relation.relationType]} {id.name}
          </Link>
        )
      );
    },
  },
];

const defaultKeys: readonly string[] = ["phase", "progress", "started", "duration", "owner", "cluster", "labels"];

const isKeys = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((key) => typeof key === "string");

/** The columns that this browser shows, with functions to change them. */
export function useColumns() {
  const [chosen, setChosen] = useState<readonly string[]>(() => read("runs-columns", isKeys) ?? defaultKeys);
  const choose = (next: readonly string[]) => {
    setChosen(next);
    write("runs-columns", next.join() === defaultKeys.join() ? undefined : next);
  };
  return {
    shown: columns.filter(({ key }) => key === "run" || chosen.includes(key)),
    isShown: (key: string) => chosen.includes(key),
    toggle: (key: string) =>
      choose(
        chosen.includes(key)
          ? chosen.filter((each) => each !== key)
          : columns.map((column) => column.key).filter((each) => each === key || chosen.includes(each)),
      ),
    reset: () => choose(defaultKeys),
    isDefault: chosen.join() === defaultKeys.join(),
  };
}

/** The accessible name of a row. */
export const rowTitle = (run: Run): string => `${run.action ? titleOf(run.action) : ""} ${nameOf(run)}`;
