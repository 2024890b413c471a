import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { t } from "@/texts/texts";
import { LaunchForm } from "./launch-form";
import { useSource, useTaskInputs } from "./use-inputs";
import css from "./page.module.css";

/** Launches a deployed task. The URL names the task and optionally a source run for inputs and options. */
export function LaunchPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const { task, version, from } = useSearch({ from: "/domain/$domain/project/$project/launch" });
  const navigate = useNavigate();
  const latest = useQuery(
    TaskService.method.listVersions,
    { request: { limit: 1 }, taskName: { org: "flyte", project, domain, name: task ?? "" } },
    { enabled: task !== undefined && version === undefined },
  );
  const chosen = version ?? latest.data?.versions[0]?.version;
  const id = { org: "flyte", project, domain, name: task ?? "", version: chosen ?? "" };
  const details = useQuery(TaskService.method.getTaskDetails, { taskId: id }, { enabled: task !== undefined && chosen !== undefined });
  const source = useSource(from === undefined ? undefined : { project, domain, name: from });
  const ready = from === undefined || source.data !== undefined;
  const inputs = useTaskInputs(`${project}/${domain}/${id.name}/${id.version}`, details.data?.details?.spec, source.data?.source, ready);
  const error = latest.error ?? details.error ?? source.error ?? inputs.error;
  if (task === undefined) {
    return (
      <Empty title={t("No task selected")}>
        <Link to="/domain/$domain/project/$project/tasks" params={{ project, domain }}>
          {t("Tasks of {project} / {domain}", { project, domain })}
        </Link>
      </Empty>
    );
  }
  return (
    <div className={css["page"]}>
      <h1>{t("Launch {task}", { task })}</h1>
      {chosen !== undefined && <p className={css["version"]}>{t("Version {chosen}", { chosen })}</p>}
      {error && <ProblemNotice error={error} />}
      {latest.data?.versions.length === 0 && (
        <Empty title={t("There is no deployed task {task}", { task })}>
          <Link to="/domain/$domain/project/$project/tasks" params={{ project, domain }}>
            {t("Tasks of {project} / {domain}", { project, domain })}
          </Link>
        </Empty>
      )}
      {!error && !inputs.data && latest.data?.versions.length !== 0 && <Loading what={t("inputs")} />}
      {inputs.data && (
        <LaunchForm
          key={`${id.name}/${id.version}/${from ?? ""}`}
          place={{ project, domain }}
          task={{ case: "taskId", value: id }}
          inputs={inputs.data}
          source={source.data?.source}
          related={false}
          onLaunched={(run) => void navigate({ to: "/domain/$domain/project/$project/runs/$run", params: { project, domain, run: run.name } })}
        />
      )}
    </div>
  );
}
