import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowRight, Plus } from "lucide-react";
import { lazy, Suspense, useCallback, useDeferredValue, useState } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { useCommands } from "@/app/commands";
import { lastPlace } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Input } from "@/design/field";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { everywhere } from "@/entities/access/rights";
import { useDenied } from "@/entities/access/use-denied";
import { firstProject } from "@/entities/project/first-commands";
import { t } from "@/texts/texts";
import { byPlace } from "./activity";
import { ProjectCard } from "./project-card";
import { ProjectDialog } from "./project-dialog";
import type { HomeSearch } from "./search";
import { useProjects } from "./use-projects";
import { useSettled } from "./use-settled";
import css from "./home.module.css";

// They ask many services, whose messages the page itself does not need.
const Attention = lazy(async () => ({ default: (await import("./attention/attention")).Attention }));
const Starred = lazy(async () => ({ default: (await import("./starred")).Starred }));

const activityEvery = 30_000;

/** The projects with their domains and recent activity. */
export function HomePage() {
  useTitle(t("Projects"));
  const search: HomeSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const [creating, setCreating] = useState(false);
  const [begun, setBegun] = useState(false);
  const onBegun = useCallback(() => setBegun(true), []);
  const settled = useSettled(begun);
  const q = useDeferredValue(search.q ?? "");
  const answer = useProjects(q, search.archived);
  const activity = useQuery(InsightService.method.getActivity, {}, { refetchInterval: (query) => (query.state.error ? false : activityEvery) });
  const noCreate = useDenied(ProjectService.method.createProject, everywhere);
  useCommands(noCreate ? [] : [{ title: t("Create project"), also: "new", run: () => setCreating(true) }]);
  const last = lastPlace();
  const change = (next: HomeSearch) => void navigate({ to: "/", search: next, replace: true });
  // What is read above the projects would push them down.
  const shown = q !== "" || settled;
  const activityOf = activity.data && byPlace(activity.data.activities);
  return (
    <div className={css["page"]}>
      <div className={css["bar"]}>
        <h1>{t("Projects")}</h1>
        <Input
          type="search"
          data-filter
          className={css["search"]}
          aria-label={t("Find projects")}
          placeholder={t("Find projects by name or ID")}
          autoComplete="off"
          value={search.q ?? ""}
          onChange={(event) => change({ ...search, q: event.target.value })}
        />
        <label className={css["check"]}>
          <input
            type="checkbox"
            checked={search.archived ?? false}
            onChange={(event) => change({ ...(search.q !== undefined && { q: search.q }), ...(event.target.checked && { archived: true }) })}
          />
          {t("Include archived")}
        </label>
        <Button kind="primary" denied={noCreate} onClick={() => setCreating(true)}>
          <Plus size={14} aria-hidden />
          {t("Create project")}
        </Button>
      </div>
      {last && q === "" && (
        <p>
          <Link className={css["last"]} to="/domain/$domain/project/$project/runs" params={last}>
            {t("Continue in {project} / {domain}", { project: last.project, domain: last.domain })} <ArrowRight size={14} aria-hidden />
          </Link>
        </p>
      )}
      {q === "" && (
        <Suspense fallback={null}>
          <Attention onBegun={onBegun} />
          <Starred />
        </Suspense>
      )}
      {answer.error && <ProblemNotice error={answer.error} retry={answer.refetch} />}
      {(answer.loading || !shown) && <Loading what={t("projects")} />}
      {!answer.loading && !answer.error && answer.projects.length === 0 && <Nothing q={q} />}
      {shown && (
        <ul className={css["projects"]} aria-label={t("Projects")}>
          {answer.projects.map((project) => (
            <ProjectCard key={project.id} project={project} activityOf={activityOf} />
          ))}
        </ul>
      )}
      {shown && answer.more && (
        <div>
          <Button onClick={answer.loadMore}>{t("More projects")}</Button>
        </div>
      )}
      <ProjectDialog open={creating} onClose={() => setCreating(false)} />
    </div>
  );
}

function Nothing({ q }: { readonly q: string }) {
  if (q === "") return <Empty title={t("No projects yet")} command={firstProject} />;
  return (
    <Empty title={t("No projects match “{query}”", { query: q })}>
      <Link to="/">{t("All projects")}</Link>
    </Empty>
  );
}
