import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useTitle } from "@/app/title";
import { SearchBox } from "@/design/list-page";
import { Tabs } from "@/design/tabs";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";
import { CacheUse } from "./cache";
import { DeployedTasks } from "./deployed";
import { HealthOfTasks } from "./health";
import { TasksSearch, type TasksView } from "./search";

/** The tasks of a project's domain: how they do, which are deployed, and what the cache does for them. */
export function TasksPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: TasksSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(t("Tasks"), `${project} / ${domain}`);
  const place = { project, domain };
  const view: TasksView = search.view ?? "health";
  const change = (next: Readonly<Record<string, unknown>>) =>
    void navigate({ to: "/domain/$domain/project/$project/tasks", params: { domain, project }, search: TasksSearch({ ...search, ...next }), replace: true });
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{t("Tasks")}</h1>
        <SearchBox what={t("tasks")} value={search.q ?? ""} onChange={(q) => change({ q })} />
      </div>
      <Tabs
        label={t("Tasks")}
        value={view}
        onChange={(next) => change({ view: next, task: "" })}
        tabs={[
          ["health", t("Health")],
          ["deployed", t("Deployed")],
          ["cache", t("Cache")],
        ]}
      >
        <div className={css["tab"]}>
          {view === "health" && <HealthOfTasks place={place} search={search} onChange={change} />}
          {view === "deployed" && <DeployedTasks place={place} text={search.q ?? ""} />}
          {view === "cache" && <CacheUse place={place} text={search.q ?? ""} task={search.task} onTask={(task) => change({ task })} />}
        </div>
      </Tabs>
    </div>
  );
}
