import { Link } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import type { Task } from "@gen/flyteidl2/task/task_definition_pb.js";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { buttonClass } from "@/design/button";
import { DataTable } from "@/design/data-table";
import { dateOf } from "@/design/format";
import { Empty } from "@/design/notice";
import { Phase } from "@/design/phase";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import css from "@/design/page.module.css";
import { firstTask } from "@/entities/project/first-commands";
import { t, tn } from "@/texts/texts";

/** The deployed tasks of a project's domain, latest deployment first. */
export function DeployedTasks({ place, text }: { readonly place: Place; readonly text: string }) {
  const { project, domain } = place;
  const q = useDeferredValue(text);
  const { answer, rows } = usePages(
    ["tasks", project, domain, q],
    (token, signal) =>
      client(TaskService).listTasks(
        {
          request: { limit: 100, token, filters: q === "" ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [q] }] },
          scopeBy: { case: "projectId", value: { organization: "flyte", name: project, domain } },
        },
        { signal },
      ),
    (page) => page.tasks,
    { keep: true, refresh: 10_000 },
  );
  const counts = answer.data?.pages[0]?.metadata;
  return (
    <>
      <p role="status" className={css["muted"]}>
        {counts && (q === "" ? tn(counts.total, "{n} task", "{n} tasks") : tn(counts.total, "{matching} of {n} task", "{matching} of {n} tasks", { matching: counts.filteredTotal }))}
      </p>
      <DataTable
        keys
        what={t("tasks")}
        label={t("Deployed tasks")}
        empty={
          q === "" ? (
            <Empty title={t("No tasks deployed yet")} command={firstTask(place)} />
          ) : (
            <Empty title={t("No tasks match “{query}”", { query: q })} />
          )
        }
        answer={answer}
        rows={rows}
        columns={columns(place)}
        keyOf={nameOf}
        attributesOf={(task) => ({ "data-testid": "task-row", "data-name": nameOf(task) })}
      />
    </>
  );
}

const nameOf = ({ taskId }: Task): string => taskId?.name ?? "";

const columns = (place: Place): readonly Column<Task>[] => [
  {
    label: t("Task"),
    cell: ({ taskId, metadata }) => (
      <>
        <Link to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task: taskId?.name ?? "" }}>
          {taskId?.name}
        </Link>
        {metadata?.shortDescription && <Note>{metadata.shortDescription}</Note>}
      </>
    ),
  },
  { label: t("Environment"), cell: ({ metadata }) => metadata?.environmentName },
  {
    label: t("Latest version"),
    cell: ({ taskId }) => (
      <Link
        to="/domain/$domain/project/$project/tasks/$task/$version"
        params={{ ...place, task: taskId?.name ?? "", version: taskId?.version ?? "" }}
        className={css["id"]}
        title={taskId?.version}
      >
        {taskId?.version}
      </Link>
    ),
  },
  { label: t("Deployed"), cell: ({ metadata }) => <When at={dateOf(metadata?.deployedAt)} relative /> },
  {
    label: t("Last run"),
    cell: ({ taskSummary }) => {
      const last = taskSummary?.latestRun;
      if (!last?.runId) return <span className={css["muted"]}>–</span>;
      const { domain, project, name } = last.runId;
      return (
        <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain, project, run: name }} className={css["line"]}>
          <Phase phase={last.phase} /> <When at={dateOf(last.runTime)} relative />
        </Link>
      );
    },
  },
  {
    label: t("Launch"),
    hideLabel: true,
    cell: (task) => (
      <Link
        to="/domain/$domain/project/$project/launch"
        params={place}
        search={{ task: nameOf(task) }}
        className={buttonClass("plain", true)}
        aria-label={t("Launch {name}", { name: nameOf(task) })}
      >
        {t("Launch")}
      </Link>
    ),
  },
];
