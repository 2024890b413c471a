import { Link } from "@tanstack/react-router";
import type { Place } from "@/app/place";
import { Empty, Notice } from "@/design/notice";
import { t } from "@/texts/texts";

interface UndeployedProps {
  readonly place: Place;
  readonly task: string;
  /** The version that the page is about; undefined where it is about all of them. */
  readonly version: string | undefined;
  /** A run that brought the task with it. */
  readonly run: string | undefined;
  /** Whether other versions of the task are deployed. */
  readonly others: boolean;
}

/** Says that a task, or a version of it, is not deployed, and where it came from. */
export function Undeployed({ place, task, version, run, others }: UndeployedProps) {
  const { project, domain } = place;
  const what = version === undefined ? t("This task") : t("This version");
  if (run === undefined) {
    return (
      <Empty title={version === undefined ? t("There is no task {task}", { task }) : t("Task {task} has no version {version}", { task, version })}>
        <p>{t("{what} is not deployed, and no run started with it. Other actions may have called it: look at the run that you came from.", { what })}</p>
        {others && <AllVersions place={place} task={task} />}
        <p>
          <Link to="/domain/$domain/project/$project/tasks" params={{ project, domain }}>
            {t("Tasks of {project} / {domain}", { project, domain })}
          </Link>
        </p>
      </Empty>
    );
  }
  return (
    <Notice title={t("{what} is not deployed", { what })} role="status">
      <p>
        {t("It came with the run {link}, as {code} sends it. What you see here is what that run knows. To start it again, rerun that run; to launch it from here, deploy it.", { link: <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run }}>
          {run}
        </Link>, code: <code>flyte run</code> })}
      </p>
      {others && <AllVersions place={place} task={task} />}
    </Notice>
  );
}

function AllVersions({ place: { project, domain }, task }: { readonly place: Place; readonly task: string }) {
  return (
    <p>
      <Link to="/domain/$domain/project/$project/tasks/$task" params={{ project, domain, task }}>
        {t("Deployed versions of this task")}
      </Link>
    </p>
  );
}
