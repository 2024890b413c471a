import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import type { Task } from "@gen/flyteidl2/task/task_definition_pb.js";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button, buttonClass } from "@/design/button";
import { Input } from "@/design/field";
import { dateOf, plural } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { When } from "@/design/time";
import type { TasksSearch } from "./search";
import css from "@/design/list.module.css";

/** The deployed tasks of a project's domain, latest deployment first. */
export function TasksPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: TasksSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle("Tasks", `${project} / ${domain}`);
  const q = useDeferredValue(search.q ?? "");
  const answer = useInfiniteQuery({
    queryKey: ["tasks", project, domain, q],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(TaskService).listTasks(
        {
          request: {
            limit: 100,
            token: pageParam,
            filters: q === "" ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [q] }],
          },
          scopeBy: { case: "projectId", value: { organization: "flyte", name: project, domain } },
        },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) === 1 ? 10_000 : false),
  });
  const tasks = answer.data?.pages.flatMap((page) => page.tasks) ?? [];
  const counts = answer.data?.pages[0]?.metadata;
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Tasks</h1>
        <Input
          type="search"
          data-filter
          className={css["search"]}
          aria-label="Find tasks"
          placeholder="Find tasks by name"
          autoComplete="off"
          value={search.q ?? ""}
          onChange={(event) =>
            void navigate({
              to: "/domain/$domain/project/$project/tasks",
              params: { domain, project },
              search: event.target.value === "" ? {} : { q: event.target.value },
              replace: true,
            })
          }
        />
        <span role="status" className={css["muted"]}>
          {counts && (q === "" ? plural(counts.total, "task") : `${counts.filteredTotal} of ${plural(counts.total, "task")}`)}
        </span>
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="tasks" />}
      {answer.isSuccess &&
        tasks.length === 0 &&
        (q === "" ? (
          <Empty title="No tasks deployed yet" command={`flyte deploy -p ${project} -d ${domain} hello.py env`} />
        ) : (
          <Empty title={`No tasks match “${q}”`} />
        ))}
      {tasks.length > 0 && (
        <table className={css["tasks"]} aria-label="Tasks">
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col">Environment</th>
              <th scope="col">Latest version</th>
              <th scope="col">Deployed</th>
              <th scope="col">Last run</th>
              <th scope="col">
                <span className="visually-hidden">Launch</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => (
              <Row key={task.taskId?.name ?? ""} task={task} place={{ project, domain }} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            {answer.isFetchingNextPage ? "Loading …" : "More tasks"}
          </Button>
        </div>
      )}
    </div>
  );
}

function Row({ task: { taskId, metadata, taskSummary }, place: { project, domain } }: { readonly task: Task; readonly place: Place }) {
  const name = taskId?.name ?? "";
  const last = taskSummary?.latestRun;
  return (
    <tr data-testid="task-row" data-name={name}>
      <th scope="row">
        <Link to="/domain/$domain/project/$project/tasks/$task" params={{ domain, project, task: name }}>
          {name}
        </Link>
        {metadata?.shortDescription && <span className={css["about"]}>{metadata.shortDescription}</span>}
      </th>
      <td data-label="Environment">{metadata?.environmentName}</td>
      <td data-label="Latest version">
        <Link
          to="/domain/$domain/project/$project/tasks/$task/$version"
          params={{ domain, project, task: name, version: taskId?.version ?? "" }}
          className={css["version"]}
          title={taskId?.version}
        >
          {taskId?.version}
        </Link>
      </td>
      <td data-label="Deployed">
        <When at={dateOf(metadata?.deployedAt)} relative />
      </td>
      <td data-label="Last run">
        {last?.runId ? (
          <Link
            to="/domain/$domain/project/$project/runs/$run"
            params={{ domain: last.runId.domain, project: last.runId.project, run: last.runId.name }}
            className={css["last"]}
          >
            <Phase phase={last.phase} /> <When at={dateOf(last.runTime)} relative />
          </Link>
        ) : (
          <span className={css["muted"]}>–</span>
        )}
      </td>
      <td>
        <Link
          to="/domain/$domain/project/$project/launch"
          params={{ project, domain }}
          search={{ task: name }}
          className={buttonClass("plain", true)}
          aria-label={`Launch ${name}`}
        >
          Launch
        </Link>
      </td>
    </tr>
  );
}
