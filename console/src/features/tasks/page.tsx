import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import css from "@/features/runs/runs.module.css";

/** The deployed tasks of a project's domain. */
export function TasksPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const answer = useInfiniteQuery(
    TaskService.method.listTasks,
    { request: { limit: 50, token: "" }, scopeBy: { case: "projectId", value: { organization: "flyte", name: project, domain } } },
    { pageParamKey: "request", getNextPageParam: (page, _all, asked) => (page.token ? { ...asked, token: page.token } : undefined) },
  );
  const tasks = answer.data?.pages.flatMap((page) => page.tasks) ?? [];
  return (
    <div className={css["page"]}>
      <h1>Tasks</h1>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="the tasks" />}
      {answer.isSuccess && tasks.length === 0 && <Empty title="Nothing is deployed here yet" command={`flyte deploy -p ${project} -d ${domain} hello.py env`} />}
      {tasks.length > 0 && (
        <table className={css["table"]}>
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col">Latest version</th>
              <th scope="col">Environment</th>
              <th scope="col">Deployed</th>
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => (
              <tr key={task.taskId?.name ?? ""}>
                <td>
                  <Link to="/domain/$domain/project/$project/tasks/$task" params={{ domain, project, task: task.taskId?.name ?? "" }}>
                    {task.taskId?.name}
                  </Link>
                </td>
                <td className={css["name"]}>{task.taskId?.version}</td>
                <td>{task.metadata?.environmentName}</td>
                <td>
                  <When at={dateOf(task.metadata?.deployedAt)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button onClick={() => void answer.fetchNextPage()}>More tasks</Button>
        </div>
      )}
    </div>
  );
}
