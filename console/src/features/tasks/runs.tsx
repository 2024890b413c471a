import { quoted } from "@/entities/run/query/quoted";
import { Link } from "@tanstack/react-router";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Empty } from "@/design/notice";
import { Phase } from "@/design/phase";
import { isLive } from "@/design/phases";
import type { Column } from "@/design/table";
import { Span, When } from "@/design/time";
import css from "@/design/page.module.css";
import { whoIs } from "@/entities/person/who-is";
import { nameOf, phaseOf } from "@/entities/run/listed";
import { t } from "@/texts/texts";
import { History } from "./history";
import type { Range } from "./search";

export interface TaskRunsProps {
  readonly place: Place;
  readonly task: string;
  /** Only of this version. */
  readonly version: string | undefined;
  readonly range: Range;
  readonly onRange: (range: Range) => void;
  readonly deployed: readonly (readonly [version: string, at: number])[];
}

/** The history of a task, and its latest runs. */
export function TaskRuns({ place, task, version, range, onRange, deployed }: TaskRunsProps) {
  const name = { org: "flyte", ...place, name: task };
  const { answer, rows } = usePages(
    ["task-runs", place.project, place.domain, task, version],
    (token, signal) =>
      client(RunService).listRuns(
        {
          request: { limit: 20, token },
          scopeBy: version === undefined ? { case: "taskName", value: name } : { case: "taskId", value: { ...name, version } },
        },
        { signal },
      ),
    (page) => page.runs,
    { refresh: 5_000 },
  );
  return (
    <>
      <History place={place} task={task} version={version} range={range} onRange={onRange} deployed={deployed} />
      <section className={css["section"]}>
        <div className={css["head"]}>
          <h2>{t("Recent runs")}</h2>
          <Link to="/domain/$domain/project/$project/runs" params={place} search={{ query: `task=${quoted(task)}` }}>
            {t("All runs of this task")}
          </Link>
        </div>
        <DataTable
          what={t("runs")}
          label={t("Recent runs")}
          more={t("Older runs")}
          empty={<Empty title={version === undefined ? t("No direct runs yet") : t("No direct runs of this version yet")} />}
          answer={answer}
          rows={rows}
          columns={columns(place)}
          keyOf={nameOf}
          attributesOf={(run) => ({ "data-testid": "task-run", "data-name": nameOf(run) })}
        />
      </section>
    </>
  );
}

const columns = (place: Place): readonly Column<Run>[] => [
  {
    label: t("Run"),
    cell: (run) => (
      <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: nameOf(run) }}>
        {nameOf(run)}
      </Link>
    ),
  },
  { label: t("Phase"), cell: (run) => <Phase phase={phaseOf(run)} /> },
  { label: t("Started"), cell: ({ action }) => <When at={dateOf(action?.status?.startTime)} /> },
  {
    label: t("Duration"),
    cell: (run) => {
      const status = run.action?.status;
      return <Span from={dateOf(status?.startTime)} to={isLive(phaseOf(run)) ? undefined : dateOf(status?.endTime)} />;
    },
  },
  {
    label: t("Version"),
    cell: ({ action }) => {
      const spec = action?.metadata?.spec;
      return <span className={css["id"]}>{spec?.case === "task" ? spec.value.id?.version : ""}</span>;
    },
  },
  { label: t("Owner"), cell: ({ action }) => whoIs(action?.metadata?.executedBy) },
];
