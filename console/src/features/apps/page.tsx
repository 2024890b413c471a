import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import { useDeferredValue } from "react";
import type { App } from "@gen/flyteidl2/app/app_definition_pb.js";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { Input, Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { addressOf } from "./address";
import { AppStatus } from "./app-status";
import { routeTo } from "./id";
import { nameOf } from "./merge";
import { appStates, type AppsSearch } from "./search";
import { useApps } from "./use-apps";
import { rangeOf, shownOf, stateWords } from "./words";
import css from "@/design/list.module.css";
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
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Apps</h1>
        <Input
          type="search"
          data-filter
          className={css["search"]}
          aria-label="Find apps"
          placeholder="Find apps by name"
          autoComplete="off"
          value={search.q ?? ""}
          onChange={(event) => set({ q: event.target.value })}
        />
        <Select className={css["versions"]} aria-label="State" value={search.state ?? ""} onChange={(event) => set({ state: event.target.value })}>
          <option value="">All states</option>
          {appStates.map((state) => (
            <option key={state} value={state}>
              {stateWords(state)}
            </option>
          ))}
        </Select>
        <Select className={css["versions"]} aria-label="Author" value={search.owner ?? ""} onChange={(event) => set({ owner: event.target.value })}>
          <option value="">All authors</option>
          <option value="me">Mine</option>
          {search.owner !== undefined && search.owner !== "me" && <option value={search.owner}>{search.owner}</option>}
        </Select>
        {live && <Tag>Live</Tag>}
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="apps" />}
      {answer.isSuccess &&
        apps.length === 0 &&
        (Object.keys(search).length > 0 ? <Empty title="No apps match" /> : <Empty title="No apps yet" command={firstApp}>Two lines of Python deploy one:</Empty>)}
      {apps.length > 0 && (
        <table className={css["tasks"]} aria-label="Apps">
          <thead>
            <tr>
              <th scope="col">App</th>
              <th scope="col">State</th>
              <th scope="col">Replicas</th>
              <th scope="col">Address</th>
              <th scope="col">Revision</th>
              <th scope="col">Author</th>
              <th scope="col">Updated</th>
            </tr>
          </thead>
          <tbody>
            {apps.map((app) => (
              <Row key={nameOf(app)} app={app} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            {answer.isFetchingNextPage ? "Loading …" : "More apps"}
          </Button>
        </div>
      )}
    </div>
  );
}

function Row({ app: { metadata, spec, status }, app }: { readonly app: App }) {
  const name = nameOf(app);
  const address = addressOf(status?.ingress);
  return (
    <tr data-testid="app-row" data-name={name}>
      <th scope="row">
        <Link
          to="/domain/$domain/project/$project/apps/$app"
          params={routeTo({ project: metadata?.id?.project ?? "", domain: metadata?.id?.domain ?? "", name })}
        >
          {name}
        </Link>
        {spec?.profile?.shortDescription && <span className={css["about"]}>{spec.profile.shortDescription}</span>}
      </th>
      <td data-label="State">
        <AppStatus shown={shownOf(app)} />
      </td>
      <td data-label="Replicas">
        <span className={own["whole"]}>
          {status?.currentReplicas ?? 0} <span className={css["muted"]}>of {rangeOf(spec?.autoscaling)}</span>
        </span>
      </td>
      <td data-label="Address">
        {address !== undefined && (
          <a className={own["whole"]} href={address} target="_blank" rel="noreferrer" title={address}>
            <span className={own["short"]}>{address.replace(/^https?:\/\//, "")}</span> <ExternalLink size={12} aria-label="opens in a new tab" />
          </a>
        )}
      </td>
      <td data-label="Revision">{String(metadata?.revision ?? 0n)}</td>
      <td data-label="Author">{whoIs(spec?.creator)}</td>
      <td data-label="Updated">
        <span className={own["whole"]}>
          <When at={dateOf(status?.lastUpdatedAt)} relative />
        </span>
      </td>
    </tr>
  );
}
