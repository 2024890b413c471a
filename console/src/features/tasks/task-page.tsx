import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { buttonClass } from "@/design/button";
import { dateOf } from "@/design/format";
import { Command, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import css from "@/features/runs/runs.module.css";

/** A task and its versions. */
export function TaskPage() {
  const { project = "", domain = "", task = "", version } = useParams({ strict: false });
  const answer = useQuery(TaskService.method.listVersions, { request: { limit: 100 }, taskName: { org: "flyte", project, domain, name: task } });
  const versions = answer.data?.versions ?? [];
  return (
    <div className={css["page"]}>
      <h1>{task}</h1>
      <div>
        <Command text={`flyte run -p ${project} -d ${domain} deployed-task ${task}`} />
      </div>
      <div>
        <Link to="/domain/$domain/project/$project/launch" params={{ project, domain }} search={{ task, ...(version !== undefined && { version }) }} className={buttonClass("primary")}>
          Launch
        </Link>
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="the versions" />}
      {versions.length > 0 && (
        <table className={css["table"]}>
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">Deployed</th>
            </tr>
          </thead>
          <tbody>
            {versions.map((one) => (
              <tr key={one.version} aria-current={one.version === version ? "true" : undefined}>
                <td className={css["name"]}>{one.version}</td>
                <td>
                  <When at={dateOf(one.deployedAt)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
