import { Link } from "@tanstack/react-router";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { buttonClass } from "@/design/button";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Phase } from "@/design/phase";
import { When } from "@/design/time";
import css from "@/design/page.module.css";
import { whoIs } from "@/entities/person/who-is";
import { t } from "@/texts/texts";
import { CompareVersions } from "./compare-versions";

interface VersionsTabProps {
  readonly place: Place;
  readonly task: string;
  readonly chosen: string | undefined;
}

/** The versions of a task, latest deployment first. */
export function VersionsTab({ place, task, chosen }: VersionsTabProps) {
  const { answer, rows } = usePages(
    ["task-versions", place.project, place.domain, task],
    (token, signal) => client(TaskService).listVersions({ request: { limit: 100, token }, taskName: { org: "flyte", ...place, name: task } }, { signal }),
    (page) => page.versions,
  );
  // Some servers do not return the last run of each version.
  const withRuns = rows.some(({ latestRun }) => latestRun?.runId !== undefined);
  return (
    <>
    <DataTable
      what={t("versions")}
      label={t("Versions")}
      answer={answer}
      rows={rows}
      keyOf={({ version }) => version}
      attributesOf={({ version }) => (version === chosen ? { "aria-current": true } : {})}
      columns={[
        {
          label: t("Version"),
          cell: ({ version }) => (
            <Link
              to="/domain/$domain/project/$project/tasks/$task/$version"
              params={{ ...place, task, version }}
              className={css["id"]}
              title={version}
            >
              {version}
            </Link>
          ),
        },
        { label: t("Deployed"), cell: ({ deployedAt }) => <When at={dateOf(deployedAt)} /> },
        { label: t("Deployed by"), cell: ({ deployedBy }) => whoIs(deployedBy) },
        withRuns && {
          label: t("Last run"),
          cell: ({ latestRun }) =>
            latestRun?.runId && (
              <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: latestRun.runId.name }} className={css["inline"]}>
                <Phase phase={latestRun.phase} /> <When at={dateOf(latestRun.runTime)} relative />
              </Link>
            ),
        },
        {
          label: t("Launch"),
          hideLabel: true,
          cell: ({ version }) => (
            <Link
              to="/domain/$domain/project/$project/launch"
              params={place}
              search={{ task, version }}
              className={buttonClass("plain", true)}
              aria-label={t("Launch version {version}", { version })}
            >
              {t("Launch")}
            </Link>
          ),
        },
      ]}
    />
      {rows.length > 1 && <CompareVersions place={place} task={task} versions={rows.map(({ version }) => version)} />}
    </>
  );
}
