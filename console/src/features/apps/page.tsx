import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import { useDeferredValue } from "react";
import type { App } from "@gen/flyteidl2/app/app_definition_pb.js";
import { useTitle } from "@/app/title";
import { Tag } from "@/design/facts";
import { Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { ListPage, SearchBox } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { firstApp } from "@/entities/project/first-commands";
import { UnknownPlace, usePlaceCheck } from "@/entities/project/unknown-place";
import { t } from "@/texts/texts";
import { addressOf } from "./address";
import { AppStatus } from "./app-status";
import { routeTo } from "./id";
import { nameOf } from "./merge";
import { appStates, type AppsSearch } from "./search";
import { useApps } from "./use-apps";
import { rangeOf, shownOf, stateWords } from "./words";
import css from "@/design/page.module.css";
import own from "./apps.module.css";

/** The apps of a project's domain, newest first. */
export function AppsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: AppsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(t("Apps"), `${project} / ${domain}`);
  const { apps, answer, live } = useApps({ project, domain }, useDeferredValue(search));
  const check = usePlaceCheck({ project, domain }, answer.isSuccess && apps.length === 0);
  const set = (patch: { readonly [K in keyof AppsSearch]: string }) => {
    const next = Object.entries({ ...search, ...patch }).filter(([, value]) => value !== "");
    void navigate({
      to: "/domain/$domain/project/$project/apps",
      params: { domain, project },
      search: Object.fromEntries(next) as AppsSearch,
      replace: true,
    });
  };
  return (
    <ListPage
      title={t("Apps")}
      what={t("apps")}
      label={t("Apps")}
      head={
        <>
          <SearchBox what={t("apps")} value={search.q ?? ""} onChange={(text) => set({ q: text })} />
          <Select className={css["select"]} aria-label={t("State")} value={search.state ?? ""} onChange={(event) => set({ state: event.target.value })}>
            <option value="">{t("All states")}</option>
            {appStates.map((state) => (
              <option key={state} value={state}>
                {stateWords(state)}
              </option>
            ))}
          </Select>
          <Select className={css["select"]} aria-label={t("Author")} value={search.owner ?? ""} onChange={(event) => set({ owner: event.target.value })}>
            <option value="">{t("All authors")}</option>
            <option value="me">{t("Mine")}</option>
            {search.owner !== undefined && search.owner !== "me" && <option value={search.owner}>{search.owner}</option>}
          </Select>
          {live && !check.checking && check.unknown === undefined && <Tag>{t("Live")}</Tag>}
        </>
      }
      empty={
        check.unknown !== undefined ? (
          <UnknownPlace title={check.unknown} />
        ) : Object.keys(search).length > 0 ? (
          <Empty title={t("No apps match")} />
        ) : (
          <Empty title={t("No apps yet")} command={firstApp({ project, domain })} />
        )
      }
      answer={answer}
      rows={apps}
      columns={columns}
      keyOf={nameOf}
      attributesOf={(app) => ({ "data-testid": "app-row", "data-name": nameOf(app) })}
    />
  );
}

const columns: readonly Column<App>[] = [
  {
    label: t("App"),
    cell: ({ metadata, spec }) => {
      const { project = "", domain = "", name = "" } = metadata?.id ?? {};
      return (
        <>
          <Link to="/domain/$domain/project/$project/apps/$app" params={routeTo({ project, domain, name })}>
            {name}
          </Link>
          {spec?.profile?.shortDescription && <Note>{spec.profile.shortDescription}</Note>}
        </>
      );
    },
  },
  { label: t("State"), cell: (app) => <AppStatus shown={shownOf(app)} /> },
  {
    label: t("Replicas"),
    cell: ({ status, spec }) => (
      <span className={own["whole"]}>
        {status?.currentReplicas ?? 0} <span className={css["muted"]}>{t("of {range}", { range: rangeOf(spec?.autoscaling) })}</span>
      </span>
    ),
  },
  {
    label: t("Address"),
    cell: ({ status }) => {
      const address = addressOf(status?.ingress);
      if (address === undefined) return undefined;
      return (
        <a className={own["whole"]} href={address} target="_blank" rel="noreferrer" title={address}>
          <span className={own["short"]}>{address.replace(/^https?:\/\//, "")}</span> <ExternalLink size={12} aria-label={t("opens in a new tab")} />
        </a>
      );
    },
  },
  { label: t("Revision"), cell: ({ metadata }) => String(metadata?.revision ?? 0n) },
  { label: t("Author"), cell: ({ spec }) => whoIs(spec?.creator) },
  {
    label: t("Updated"),
    cell: ({ status }) => (
      <span className={own["whole"]}>
        <When at={dateOf(status?.lastUpdatedAt)} relative />
      </span>
    ),
  },
];
