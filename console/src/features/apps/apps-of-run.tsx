import { Link } from "@tanstack/react-router";
import type { AppUse } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { Button } from "@/design/button";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { t } from "@/texts/texts";
import { AppStatus } from "./app-status";
import { routeTo } from "./id";
import { useAppsOfRun, type Run } from "./use-apps-of-run";
import { shownOf } from "./words";
import page from "@/design/page.module.css";
import css from "./apps.module.css";

/** The apps that use outputs of a run, and as which of their inputs. */
export function AppsOfRun({ run }: { readonly run: Run }) {
  const { apps, loading, error, more, refetch } = useAppsOfRun(run);
  if (error) return <ProblemNotice error={error} retry={refetch} />;
  if (loading) return <Loading what={t("apps")} />;
  if (apps.length === 0) return <Empty title={t("No app uses outputs of this run")} />;
  return (
    <div className={page["tab"]}>
      <ul className={css["users"]} aria-label={t("Apps that use outputs of this run")}>
        {apps.flatMap(({ app, uses }) => {
          const id = app?.metadata?.id;
          return app === undefined || id === undefined
            ? []
            : [
                <li key={`${id.project}/${id.domain}/${id.name}`}>
                  <Link to="/domain/$domain/project/$project/apps/$app" params={routeTo(id)}>
                    {id.name}
                  </Link>
                  <AppStatus shown={shownOf(app)} />
                  {uses.map((use) => (
                    <Origin key={use.input} use={use} />
                  ))}
                </li>,
              ];
        })}
      </ul>
      {more && (
        <div>
          <Button onClick={more}>{t("More apps")}</Button>
        </div>
      )}
    </div>
  );
}

/** An input, with a link to the action whose output it is. */
function Origin({ use: { input, actionId } }: { readonly use: AppUse }) {
  const { run, name } = actionId ?? {};
  if (!run || !name) return <span className={page["muted"]}>{t("input {input}", { input })}</span>;
  return (
    <Link
      to="/domain/$domain/project/$project/runs/$run"
      params={{ domain: run.domain, project: run.project, run: run.name }}
      search={{ view: "apps", action: name }}
    >
      {t("input {input}, action {name}", { input, name })}
    </Link>
  );
}
