import { useInfiniteQuery } from "@tanstack/react-query";
import { Code } from "@connectrpc/connect";
import { Link } from "@tanstack/react-router";
import { AppService } from "@gen/flyteidl2/app/app_service_pb.js";
import { problemOf } from "@/api/problem";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { Button } from "@/design/button";
import { Loading, ProblemNotice } from "@/design/notice";
import { t } from "@/texts/texts";
import { AppStatus } from "./app-status";
import { routeTo } from "./id";
import { shownOf } from "./words";
import page from "@/design/page.module.css";
import css from "./apps.module.css";

/** The apps that use a version of an artifact. */
export function Consumers({ place: { project, domain }, name, version }: { readonly place: Place; readonly name: string; readonly version: string }) {
  const answer = useInfiniteQuery({
    queryKey: ["apps-of-artifact", project, domain, name, version],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(AppService).list(
        { request: { limit: 50, token: pageParam }, filterBy: { case: "artifact", value: { project, domain, name, version } } },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
  });
  if (answer.error) {
    if (problemOf(answer.error).code === Code.Unimplemented) return <p className={page["muted"]}>{t("This server has no apps.")}</p>;
    return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  }
  if (!answer.data) return <Loading what={t("apps")} />;
  const apps = answer.data.pages.flatMap((page) => page.apps);
  if (apps.length === 0) return <p className={page["muted"]}>{t("No app uses this version.")}</p>;
  return (
    <>
      <ul className={css["links"]} aria-label={t("Apps that use this version")}>
        {apps.flatMap((app) => {
          const id = app.metadata?.id;
          return id === undefined
            ? []
            : [
                <li key={`${id.project}/${id.domain}/${id.name}`}>
                  <Link to="/domain/$domain/project/$project/apps/$app" params={routeTo(id)}>
                    {id.name}
                  </Link>
                  <AppStatus shown={shownOf(app)} />
                </li>,
              ];
        })}
      </ul>
      {answer.hasNextPage && (
        <div>
          <Button onClick={() => void answer.fetchNextPage()}>{t("More apps")}</Button>
        </div>
      )}
    </>
  );
}
