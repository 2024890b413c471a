import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { TaskService, type ListVersionsResponse_VersionResponse } from "@gen/flyteidl2/task/task_service_pb.js";
import { problemOf } from "@/api/problem";
import { useTitle } from "@/app/title";
import { buttonClass } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Select } from "@/design/field";
import { dateOf, msOf } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { Tabs } from "@/design/tabs";
import { When } from "@/design/time";
import { PageStar } from "@/entities/star/star-button";
import { whoIs } from "@/entities/person/who-is";
import { t } from "@/texts/texts";
import { EnvironmentTab } from "./environment";
import { InterfaceTab } from "./interface";
import { Pipeline } from "./pipeline";
import { TaskRuns } from "./runs";
import type { TaskSearch, TaskTab } from "./search";
import { TaskActions } from "./task-actions";
import { Undeployed } from "./undeployed";
import { useSpecOfRuns } from "./use-spec-of-runs";
import { VersionsTab } from "./versions";
import css from "@/design/page.module.css";

const tabNames: readonly (readonly [TaskTab, string])[] = [
  ["runs", t("Runs and history")],
  ["actions", t("Actions")],
  ["pipeline", t("Pipeline")],
  ["interface", t("Interface")],
  ["environment", t("Environment")],
  ["versions", t("Versions")],
];

/** A task: its runs, interface, environment and versions. */
export function TaskPage() {
  const { project = "", domain = "", task = "", version } = useParams({ strict: false });
  const search: TaskSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(task, t("Tasks"));
  const answer = useQuery(TaskService.method.listVersions, { request: { limit: 200 }, taskName: { org: "flyte", project, domain, name: task } });
  const versions = answer.data?.versions ?? [];
  const chosen = version ?? versions[0]?.version;
  const details = useQuery(
    TaskService.method.getTaskDetails,
    { taskId: { org: "flyte", project, domain, name: task, version: chosen ?? "" } },
    { enabled: chosen !== undefined },
  );
  // An empty version means all versions; an undefined one keeps the current one.
  const go = (next: { version?: string | undefined; search?: TaskSearch }) => {
    const to = next.version === undefined ? version : next.version || undefined;
    const after = next.search ?? search;
    void (to === undefined
      ? navigate({ to: "/domain/$domain/project/$project/tasks/$task", params: { project, domain, task }, search: after })
      : navigate({ to: "/domain/$domain/project/$project/tasks/$task/$version", params: { project, domain, task, version: to }, search: after }));
  };
  // Only a clear answer counts: while a request is open or fails otherwise, the task is not called missing.
  const missing = chosen === undefined ? answer.isSuccess : details.error !== null && problemOf(details.error).code === Code.NotFound;
  const place = { project, domain };
  const ofRuns = useSpecOfRuns(place, task, version, missing);
  const spec = missing ? ofRuns.data?.spec : details.data?.details?.spec;
  const metadata = details.data?.details?.metadata;
  const tabs = missing ? tabNames.filter(([one]) => spec !== undefined || one === "runs" || one === "actions" || one === "pipeline") : tabNames;
  const tab: TaskTab = tabs.some(([one]) => one === search.tab) ? (search.tab ?? "runs") : "runs";
  // What is above the tabs is known: they would jump when it comes.
  const known = missing ? Boolean(ofRuns.data) : !answer.isLoading && !details.isLoading;
  const error = answer.error ?? (missing ? ofRuns.error : details.error);
  // Functions, so that only the chosen tab is rendered and sends its requests.
  const contents: Record<TaskTab, () => React.ReactNode> = {
    runs: () => (
      <TaskRuns
        place={place}
        task={task}
        version={version}
        range={search.range ?? "7d"}
        deployed={versions.map(({ version: name, deployedAt }) => [name, msOf(deployedAt) ?? 0] as const)}
        onRange={(range) => go({ search: { ...without(search, "range"), ...(range !== "7d" && { range }) } })}
      />
    ),
    actions: () => <TaskActions place={place} task={task} version={version} />,
    pipeline: () => <Pipeline place={place} task={task} />,
    interface: () => spec && <InterfaceTab spec={spec} />,
    environment: () => spec && <EnvironmentTab spec={spec} />,
    versions: () => <VersionsTab place={place} task={task} chosen={version} />,
  };
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{task}</h1>
        <CopyButton text={task} label={t("Copy task name")} />
        <PageStar of={{ ...place, kind: "task", name: task }} />
        <div className={css["actions"]}>
          {versions.length > 0 && <VersionSelect versions={versions} version={version} onChange={(next) => go({ version: next })} />}
          {metadata && (
            <Link
              to="/domain/$domain/project/$project/launch"
              params={place}
              search={{ task, ...(version !== undefined && { version }) }}
              className={buttonClass("primary")}
            >
              {t("Launch")}
            </Link>
          )}
        </div>
      </div>
      {spec?.documentation?.shortDescription && <p>{spec.documentation.shortDescription}</p>}
      {metadata && (
        <p className={css["facts"]}>
          <span>
            {t("Version {code}", { code: <code title={chosen}>{chosen}</code> })}
            {version === undefined && ` ${t("(latest)")}`}
          </span>
          {metadata.environmentName && <span>{t("Environment {environmentName}", { environmentName: metadata.environmentName })}</span>}
          <span>
            {t("Deployed {when}", { when: <When at={dateOf(metadata.deployedAt)} /> })}
            {whoIs(metadata.deployedBy) && ` ${t("by {who}", { who: whoIs(metadata.deployedBy) })}`}
          </span>
        </p>
      )}
      {error && <ProblemNotice error={error} retry={() => void (answer.error ? answer.refetch() : details.refetch())} />}
      {(answer.isLoading || details.isLoading || ofRuns.isLoading) && <Loading what={t("task")} />}
      {missing && ofRuns.isSuccess && (
        <Undeployed place={place} task={task} version={version} run={ofRuns.data?.run} others={version !== undefined && versions.length > 0} />
      )}
      {known && (
        <Tabs
          label={t("Task")}
          value={tab}
          onChange={(next) => go({ search: { ...without(search, "tab"), ...(next !== "runs" && { tab: next }) } })}
          tabs={tabs}
        >
          <div className={css["tab"]}>{!spec && (tab === "interface" || tab === "environment") && !error ? <Loading what={t("task")} /> : contents[tab]()}</div>
        </Tabs>
      )}
    </div>
  );
}

/** The parameters without one: setting it to undefined would leave it in the URL. */
function without<K extends keyof TaskSearch>(search: TaskSearch, key: K): Omit<TaskSearch, K> {
  return Object.fromEntries(Object.entries(search).filter(([one]) => one !== key)) as Omit<TaskSearch, K>;
}

/** The choice of a version. A version that is not among the first 200, or not deployed, is still shown as chosen. */
function VersionSelect({
  versions,
  version,
  onChange,
}: {
  readonly versions: readonly ListVersionsResponse_VersionResponse[];
  readonly version: string | undefined;
  readonly onChange: (version: string) => void;
}) {
  const known = version === undefined || versions.some((one) => one.version === version);
  return (
    <Select aria-label={t("Version")} className={css["select"]} value={version ?? ""} onChange={(event) => onChange(event.target.value)}>
      <option value="">{t("All versions")}</option>
      {!known && <option value={version}>{version}</option>}
      {versions.map((one) => (
        <option key={one.version} value={one.version}>
          {one.version}
        </option>
      ))}
    </Select>
  );
}
