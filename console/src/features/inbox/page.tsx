import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { useMemo, useRef } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { lastPlace, type Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button, buttonClass } from "@/design/button";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import { t, tn } from "@/texts/texts";
import { useMe } from "@/entities/access/use-me";
import { AlertSwitch } from "./alerts/switch";
import { PausedCard } from "./paused-card";
import type { InboxSearch } from "./search";
import { usePaused } from "./use-paused";
import css from "./inbox.module.css";

/** The pending approvals of a project's domain, or of all projects, with the form to answer each. */
export function InboxPage() {
  const { project, domain } = useParams({ strict: false });
  const place = useMemo(() => (project !== undefined && domain !== undefined ? { project, domain } : undefined), [project, domain]);
  const search: InboxSearch = useSearch({ strict: false });
  const mine = search.mine === true;
  const me = useMe();
  const paused = usePaused(place, mine);
  const client = useQueryClient();
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(paused.total > 0 ? t("Inbox ({total})", { total: paused.total }) : t("Inbox"), place ? `${place.project} / ${place.domain}` : "");
  const changed = () =>
    void client.invalidateQueries({ queryKey: createConnectQueryKey({ schema: InsightService.method.listPausedActions, cardinality: undefined }) });
  const answered = () => {
    // The card that had the focus is removed.
    heading.current?.focus();
    changed();
  };
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1 ref={heading} tabIndex={-1}>
          {t("Inbox")}
        </h1>
        <span role="status" className={css["muted"]}>
          {paused.served && !paused.loading && !paused.error && (paused.total === 0 ? t("No pending approvals") : tn(paused.total, "{n} approval pending", "{n} approvals pending"))}
        </span>
        <Scope here={place !== undefined} mine={mine} withMine={me?.open === false || mine} />
      </div>
      <AlertSwitch />
      {!paused.served && <Unserved />}
      {paused.served && paused.error && <ProblemNotice error={paused.error} retry={paused.refetch} />}
      {paused.loading && <Loading what={t("approvals")} />}
      {paused.served && !paused.loading && !paused.error && paused.actions.length === 0 && (
        <Empty title={emptyTitle(mine, place)}>
          <p>{mine ? t("Approvals that someone assigns to you appear here automatically.") : t("Runs that wait for an approval appear here automatically.")}</p>
        </Empty>
      )}
      <ul className={css["list"]} aria-label={t("Pending approvals")}>
        {paused.actions.map((action) => (
          <li key={`${action.actionId?.run?.project}/${action.actionId?.run?.domain}/${action.actionId?.run?.name}/${action.actionId?.name}`}>
            <PausedCard action={action} withPlace={place === undefined} onAnswered={answered} onAssigned={changed} />
          </li>
        ))}
      </ul>
      {paused.more && (
        <div>
          <Button onClick={paused.more}>{t("More")}</Button>
        </div>
      )}
    </div>
  );
}

function emptyTitle(mine: boolean, place: Place | undefined): string {
  if (!place) return mine ? t("Nothing assigned to you") : t("Nothing to approve");
  const { project, domain } = place;
  return mine ? t("Nothing assigned to you in {project} / {domain}", { project, domain }) : t("Nothing to approve in {project} / {domain}", { project, domain });
}

interface ScopeProps {
  readonly here: boolean;
  readonly mine: boolean;
  readonly withMine: boolean;
}

/** Switches between the inbox of all projects and that of the last place, and between all approvals and those of the reader. */
function Scope({ here, mine, withMine }: ScopeProps) {
  const place = lastPlace();
  const search = mine ? { mine } : {};
  return (
    <nav className={css["scope"]} aria-label={t("Inbox scope")}>
      {withMine && (
        <Link to="." search={mine ? {} : { mine: true }} className={buttonClass("plain", true)} aria-current={mine ? "page" : undefined}>
          {t("Assigned to me")}
        </Link>
      )}
      {place && (
        <>
          <Link to="/inbox" search={search} className={buttonClass("plain", true)} aria-current={here ? undefined : "page"}>
            {t("All projects")}
          </Link>
          <Link to="/domain/$domain/project/$project/inbox" params={place} search={search} className={buttonClass("plain", true)} aria-current={here ? "page" : undefined}>
            {place.project} / {place.domain}
          </Link>
        </>
      )}
    </nav>
  );
}

/** An older server has no inbox, but can list the runs that wait. */
function Unserved() {
  const place = lastPlace();
  return (
    <Notice tone="warning" title={t("This server cannot list pending approvals")} role="status">
      <p>{t("List the runs that wait for approval instead, and answer on the page of the run.")}</p>
      {place && (
        <p>
          <Link to="/domain/$domain/project/$project/runs" params={place} search={{ query: "is:paused" }}>
            {t("Runs of {project} / {domain} waiting for approval", { project: place.project, domain: place.domain })}
          </Link>
        </p>
      )}
    </Notice>
  );
}
