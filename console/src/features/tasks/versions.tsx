import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { Button, buttonClass } from "@/design/button";
import { dateOf } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import css from "@/design/list.module.css";

/** The versions of a task, latest deployment first. */
export function VersionsTab({
  place: { project, domain },
  task,
  chosen,
}: {
  readonly place: Place;
  readonly task: string;
  readonly chosen: string | undefined;
}) {
  const answer = useInfiniteQuery({
    queryKey: ["task-versions", project, domain, task],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(TaskService).listVersions({ request: { limit: 100, token: pageParam }, taskName: { org: "flyte", project, domain, name: task } }, { signal }),
    getNextPageParam: (page) => page.token || undefined,
  });
  if (answer.error) return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading what="versions" />;
  const versions = answer.data.pages.flatMap((page) => page.versions);
  // Some servers do not return the last run of each version.
  const withRuns = versions.some(({ latestRun }) => latestRun?.runId !== undefined);
  return (
    <>
      <table className={css["tasks"]} aria-label="Versions">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Deployed</th>
            <th scope="col">Deployed by</th>
            {withRuns && <th scope="col">Last run</th>}
            <th scope="col">
              <span className="visually-hidden">Launch</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {versions.map(({ version, deployedAt, deployedBy, latestRun }) => (
            <tr key={version} aria-current={version === chosen ? "true" : undefined}>
              <th scope="row">
                <Link
                  to="/domain/$domain/project/$project/tasks/$task/$version"
                  params={{ project, domain, task, version }}
                  className={css["version"]}
                  title={version}
                >
                  {version}
                </Link>
              </th>
              <td data-label="Deployed">
                <When at={dateOf(deployedAt)} />
              </td>
              <td data-label="Deployed by">{whoIs(deployedBy)}</td>
              {withRuns && (
                <td data-label="Last run">
                  {latestRun?.runId && (
                    <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain, project, run: latestRun.runId.name }} className={css["last"]}>
                      <Phase phase={latestRun.phase} /> <When at={dateOf(latestRun.runTime)} relative />
                    </Link>
                  )}
                </td>
              )}
              <td>
                <Link
                  to="/domain/$domain/project/$project/launch"
                  params={{ project, domain }}
                  search={{ task, version }}
                  className={buttonClass("plain", true)}
                  aria-label={`Launch version ${version}`}
                >
                  Launch
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer.hasNextPage && (
        <div>
          <Button onClick={() => void answer.fetchNextPage()}>More versions</Button>
        </div>
      )}
    </>
  );
}
