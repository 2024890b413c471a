import { Link, useParams } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { useMemo, useRef } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { lastPlace } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button, buttonClass } from "@/design/button";
import { plural } from "@/design/format";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import { PausedCard } from "./paused-card";
import { usePaused } from "./use-paused";
import css from "./inbox.module.css";

/** What waits for a person, answered in place: in a project's domain, or everywhere. */
export function InboxPage() {
  const { project, domain } = useParams({ strict: false });
  const place = useMemo(() => (project !== undefined && domain !== undefined ? { project, domain } : undefined), [project, domain]);
  const paused = usePaused(place);
  const client = useQueryClient();
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(paused.total > 0 ? `Inbox (${paused.total})` : "Inbox", place ? `${place.project} / ${place.domain}` : "");
  const answered = () => {
    // The card goes, and with it what had the focus.
    heading.current?.focus();
    void client.invalidateQueries({ queryKey: createConnectQueryKey({ schema: InsightService.method.listPausedActions, cardinality: undefined }) });
  };
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1 ref={heading} tabIndex={-1}>
          Inbox
        </h1>
        <span role="status" className={css["muted"]}>
          {paused.served && !paused.loading && !paused.error && (paused.total === 0 ? "Nothing waits for a person" : `${plural(paused.total, "condition waits", "conditions wait")} for a person`)}
        </span>
        <Scope here={place !== undefined} />
      </div>
      {!paused.served && <Unserved />}
      {paused.served && paused.error && <ProblemNotice error={paused.error} retry={paused.again} />}
      {paused.loading && <Loading what="what waits" />}
      {paused.served && !paused.loading && !paused.error && paused.actions.length === 0 && (
        <Empty title={place ? `Nobody is waited for in ${place.project} / ${place.domain}` : "Nobody is waited for"}>
          <p>A run that waits for the answer to a condition shows up here by itself, and is answered here.</p>
        </Empty>
      )}
      <ul className={css["list"]} aria-label="Conditions that wait">
        {paused.actions.map((action) => (
          <li key={`${action.actionId?.run?.project}/${action.actionId?.run?.domain}/${action.actionId?.run?.name}/${action.actionId?.name}`}>
            <PausedCard action={action} withPlace={place === undefined} onAnswered={answered} />
          </li>
        ))}
      </ul>
      {paused.more && (
        <div>
          <Button onClick={paused.more}>More</Button>
        </div>
      )}
    </div>
  );
}

/** Leads between the inbox of everything and that of the place where the reader was last. */
function Scope({ here }: { readonly here: boolean }) {
  const place = lastPlace();
  if (!place) return null;
  return (
    <nav className={css["scope"]} aria-label="Whose inbox">
      <Link to="/inbox" className={buttonClass("plain", true)} aria-current={here ? undefined : "page"}>
        Everywhere
      </Link>
      <Link to="/domain/$domain/project/$project/inbox" params={place} className={buttonClass("plain", true)} aria-current={here ? "page" : undefined}>
        {place.project} / {place.domain}
      </Link>
    </nav>
  );
}

/** The server is older than the console's idea of an inbox; the runs that wait are listed by every server. */
function Unserved() {
  const place = lastPlace();
  return (
    <Notice tone="warning" title="This server does not list what waits across runs" role="status">
      <p>The runs that wait for somebody can be listed all the same, and are answered on their own pages.</p>
      {place && (
        <p>
          <Link to="/domain/$domain/project/$project/runs" params={place} search={{ paused: true }}>
            Runs of {place.project} / {place.domain} that wait
          </Link>
        </p>
      )}
    </Notice>
  );
}
