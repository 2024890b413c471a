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
import { UnknownPlace, usePlaceCheck } from "@/entities/project/unknown-place";
import { addressOf } from "./address";
import { AppStatus } from "./app-status";
import { routeTo } from "./id";
import { nameOf } from "./merge";
import { appStates, type AppsSearch } from "./search";
import { useApps } from "./use-apps";
import { rangeOf, shownOf, stateWords } from "./words";
import css from "@/design/page.module.css";
import own from "./apps.module.css";

const firstApp = `app = flyte.app.AppEnvironment(name="hello", args="python -m http.server 8080", port=8080)
flyte.serve(app)`;

/** The apps of a project's domain, newest first. */
export function AppsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: AppsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle("Apps", `${project} / ${domain}`);
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
      title="Apps"
      what="apps"
      label="Apps"
      head={
        <>
          <SearchBox what="apps" value={search.q ?? ""} onChange={(text) => set({ q: text })} />
          <Select className={css["select"]} aria-label="State" value={search.state ?? ""} onChange={(event) => set({ state: event.target.value })}>
            <option value="">All states</option>
            {appStates.map((state) => (
              <option key={state} value={state}>
                {stateWords(state)}
              </option>
            ))}
          </Select>
          <Select className={css["select"]} aria-label="Author" value={search.owner ?? ""} onChange={(event) => set({ owner: event.target.value })}>
            <option value="">All authors</option>
            <option value="me">Mine</option>
            {search.owner !== undefined && search.owner !== "me" && <option value={search.owner}>{search.owner}</option>}
          </Select>
          {live && !check.checking && check.unknown === undefined && <Tag>Live</Tag>}
        </>
      }
      empty={
        check.unknown !== undefined ? (
          <UnknownPlace title={check.unknown} />
        ) : Object.keys(search).length > 0 ? (
          <Empty title="No apps match" />
        ) : (
          <Empty title="No apps yet" command={firstApp}>
            Deploy one with two lines of Python:
          </Empty>
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
    label: "App",
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
  { label: "State", cell: (app) => <AppStatus shown={shownOf(app)} /> },
  {
    label: "Replicas",
    cell: ({ status, spec }) => (
      <span className={own["whole"]}>
        {status?.currentReplicas ?? 0} <span className={css["muted"]}>of {rangeOf(spec?.autoscaling)}</span>
      </span>
    ),
  },
  {
    label: "Address",
    cell: ({ status }) => {
      const address = addressOf(status?.ingress);
      if (address === undefined) return undefined;
      return (
        <a className={own["whole"]} href={address} target="_blank" rel="noreferrer" title={address}>
          <span className={own["short"]}>{address.replace(/^https?:\/\//, "")}</span> <ExternalLink size={12} aria-label="opens in a new tab" />
        </a>
      );
    },
  },
  { label: "Revision", cell: ({ metadata }) => String(metadata?.revision ?? 0n) },
  { label: "Author", cell: ({ spec }) => whoIs(spec?.creator) },
  {
    label: "Updated",
    cell: ({ status }) => (
      <span className={own["whole"]}>
        <When at={dateOf(status?.lastUpdatedAt)} relative />
      </span>
    ),
  },
];
