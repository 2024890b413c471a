import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { TaskHealthService, type TaskAction } from "@gen/flytebinary/insight/v1/health_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { DataTable } from "@/design/data-table";
import { Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { Empty } from "@/design/notice";
import { Phase } from "@/design/phase";
import { Note, type Column } from "@/design/table";
import { Span, When } from "@/design/time";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

interface TaskActionsProps {
  readonly place: Place;
  readonly task: string;
  /** Only of this version. */
  readonly version: string | undefined;
}

const filters = {
  all: [t("All outcomes"), []],
  failed: [t("Failed and timed out"), [ActionPhase.FAILED, ActionPhase.TIMED_OUT]],
  aborted: [t("Aborted"), [ActionPhase.ABORTED]],
  succeeded: [t("Succeeded"), [ActionPhase.SUCCEEDED, ActionPhase.RECOVERED]],
} as const;

/** The ended actions of a task, also those inside runs of other tasks. */
export function TaskActions({ place, task, version }: TaskActionsProps) {
  const [filter, setFilter] = useState<keyof typeof filters>("all");
  const { answer, rows } = usePages(
    ["task-actions", place.project, place.domain, task, version, filter],
    (token, signal) =>
      client(TaskHealthService).listTaskActions(
        { projectId: { name: place.project, domain: place.domain }, task, version: version ?? "", phases: [...filters[filter][1]], token },
        { signal },
      ),
    ({ actions }) => actions,
    { keep: true, refresh: 5_000 },
  );
  return (
    <section className={css["section"]}>
      <div className={css["head"]}>
        <h2>{t("Ended actions")}</h2>
        <Select aria-label={t("Outcome")} className={css["select"]} value={filter} onChange={({ target }) => setFilter(target.value as keyof typeof filters)}>
          {Object.entries(filters).map(([key, [label]]) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </Select>
      </div>
      <DataTable
        keys
        what={t("actions")}
        label={t("Actions")}
        more={t("Earlier actions")}
        empty={<Empty title={filter === "all" ? t("No action of this task has ended") : t("No actions match this filter")} />}
        answer={answer}
        rows={rows}
        keyOf={({ actionId }) => `${actionId?.run?.name ?? ""}/${actionId?.name ?? ""}`}
        attributesOf={({ actionId }) => ({ "data-testid": "task-action", "data-run": actionId?.run?.name })}
        columns={columns}
      />
    </section>
  );
}

const columns: readonly Column<TaskAction>[] = [
  {
    label: t("Action"),
    cell: ({ actionId, rootTask }) =>
      actionId?.run && (
        <>
          <Link
            to="/domain/$domain/project/$project/runs/$run"
            params={{ project: actionId.run.project, domain: actionId.run.domain, run: actionId.run.name }}
            search={actionId.name === "a0" ? {} : { action: actionId.name }}
          >
            {actionId.run.name}
            {actionId.name !== "a0" && ` · ${actionId.name}`}
          </Link>
          {actionId.name !== "a0" && <Note>{t("in a run of {rootTask}", { rootTask })}</Note>}
        </>
      ),
  },
  {
    label: t("Outcome"),
    cell: ({ phase, cached, attempts }) => (
      <>
        <Phase phase={phase} />
        {(cached || attempts > 1) && <Note>{[cached && "cached", attempts > 1 && t("{attempts} attempts", { attempts: String(attempts) })].filter(Boolean).join(", ")}</Note>}
      </>
    ),
  },
  { label: t("Ran"), number: true, cell: ({ startedAt, endedAt, cached }) => (cached || !startedAt ? "–" : <Span from={dateOf(startedAt)} to={dateOf(endedAt)} />) },
  { label: t("Ended"), cell: ({ endedAt }) => <When at={dateOf(endedAt)} /> },
  {
    label: t("Version"),
    cell: ({ version }) => (
      <span className={css["id"]} title={version}>
        {version}
      </span>
    ),
  },
];
