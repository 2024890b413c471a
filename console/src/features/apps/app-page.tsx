import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import { lazy, Suspense, type ReactNode } from "react";
import { Code } from "@connectrpc/connect";
import type { ExplainAppResponse } from "@gen/flytebinary/insight/v1/apps_pb.js";
import type { App } from "@gen/flyteidl2/app/app_definition_pb.js";
import { chunk } from "@/api/chunk";
import { problemOf } from "@/api/problem";
import { useTitle } from "@/app/title";
import { buttonClass } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import { SaidText } from "@/design/said";
import { Tabs } from "@/design/tabs";
import { sayMessage, saySentence } from "@/texts/server";
import { inSentence, t } from "@/texts/texts";
import { AppActions } from "./actions";
import { addressOf, linkAddress } from "./address";
import { AppStatus } from "./app-status";
import { History } from "./history";
import { appId } from "./id";
import { Message } from "./message";
import { Overview } from "./overview";
import { Revisions } from "./revisions";
import { appTabs, type AppSearch, type AppTab } from "./search";
import { Settings } from "./settings";
import { useApp } from "./use-app";
import { shownOf } from "./words";
import page from "@/design/page.module.css";
import css from "./apps.module.css";

const Logs = lazy(() => chunk(() => import("./logs")).then((m) => ({ default: m.AppLogs })));

const tabNames: Record<AppTab, string> = { overview: t("Overview"), logs: t("Logs"), revisions: t("Revisions"), settings: t("Settings"), history: t("History") };

/** An app: its state, what runs of it, its logs, revisions, settings and history. */
export function AppPage() {
  const { project = "", domain = "", app: name = "" } = useParams({ strict: false });
  const search: AppSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(name, t("Apps"));
  const id = appId({ project, domain }, name);
  const { app, deleted, explained } = useApp(id);
  const tab: AppTab = search.tab ?? "overview";
  const go = (next: AppSearch) => void navigate({ to: "/domain/$domain/project/$project/apps/$app", params: { domain, project, app: name }, search: next });
  const refresh = () => void explained.refetch();
  if (deleted) {
    return (
      <Empty title={t("App {name} was deleted", { name })}>
        <p>{t("Its logs and revisions were deleted too.")}</p>
      </Empty>
    );
  }
  const missing = explained.error && problemOf(explained.error).code === Code.NotFound;
  const contents: Record<AppTab, () => ReactNode> = {
    overview: () => <Overview explained={explained.data} onLog={(replica) => go({ tab: "logs", replica })} />,
    logs: () => (
      <Logs
        id={id}
        replicas={explained.data?.replicas ?? []}
        replica={search.replica}
        line={search.line}
        onChange={({ replica, line }) => go({ tab: "logs", ...(replica !== undefined && { replica }), ...(line !== undefined && { line }) })}
      />
    ),
    revisions: () => <Revisions id={id} current={app?.metadata?.revision ?? 0n} onChange={refresh} />,
    settings: () => (app ? <Settings app={app} uses={explained.data?.uses ?? []} /> : <Loading what={t("settings")} />),
    history: () => <History id={id} />,
  };
  return (
    <div className={page["page"]}>
      <Head name={name} app={app} explained={explained.data}>
        {app && <AppActions id={id} app={app} onChange={refresh} />}
      </Head>
      {explained.error && (
        <ProblemNotice error={explained.error} retry={refresh}>
          <Link to="/domain/$domain/project/$project/apps" params={{ project: id.project, domain: id.domain }}>
            {t("Apps of {project} / {domain}", { project: id.project, domain: id.domain })}
          </Link>
        </ProblemNotice>
      )}
      {!app && !explained.error && <Loading what={t("app")} />}
      {app && !missing && (
        <Tabs
          label={t("App")}
          value={tab}
          onChange={(next) => go(next === "overview" ? {} : { tab: next })}
          tabs={appTabs.map((known) => [known, tabNames[known]] as const)}
        >
          <div className={page["tab"]}>
            <Suspense fallback={<Loading what={inSentence(tabNames[tab])} />}>{contents[tab]()}</Suspense>
          </div>
        </Tabs>
      )}
    </div>
  );
}

function Head({
  name,
  app,
  explained,
  children,
}: {
  readonly name: string;
  readonly app: App | undefined;
  readonly explained: ExplainAppResponse | undefined;
  readonly children: ReactNode;
}) {
  const address = addressOf(app?.status?.ingress, explained?.hostUrl);
  const shown = shownOf(app);
  const links = app?.spec?.links.flatMap((link) => {
    const to = linkAddress(link, address);
    return to === undefined ? [] : [{ to, title: link.title || link.path }];
  });
  return (
    <>
      <div className={page["head"]}>
        <h1>{name}</h1>
        <CopyButton text={name} label={t("Copy app name")} />
        {app && <AppStatus shown={shown} />}
        {app?.spec?.profile?.type && <Tag>{app.spec.profile.type}</Tag>}
        <div className={page["actions"]}>
          {address !== undefined && (
            <a className={buttonClass("primary")} href={address} target="_blank" rel="noreferrer">
              {t("Open")} <ExternalLink size={14} aria-label={t("in a new tab")} />
            </a>
          )}
          {children}
        </div>
      </div>
      {app?.spec?.profile?.shortDescription && <p>{app.spec.profile.shortDescription}</p>}
      {(address !== undefined || (links?.length ?? 0) > 0) && (
        <ul className={css["links"]} aria-label={t("Addresses")}>
          {address !== undefined && (
            <li>
              <code className={page["address"]}>{address}</code>
              <CopyButton text={address} label={t("Copy address")} />
            </li>
          )}
          {links?.map(({ to, title }) => (
            <li key={`${title} ${to}`}>
              <a href={to} target="_blank" rel="noreferrer">
                {title} <ExternalLink size={12} aria-label={t("opens in a new tab")} />
              </a>
            </li>
          ))}
        </ul>
      )}
      {explained?.summary && (
        <Notice tone={shown.look.key === "failed" ? "danger" : "plain"} title={<Message of={saySentence(explained.summary)} />}>
          {explained.advice && <p><SaidText of={sayMessage(explained.advice)} /></p>}
        </Notice>
      )}
    </>
  );
}
