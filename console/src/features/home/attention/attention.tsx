import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { AppService } from "@gen/flyteidl2/app/app_service_pb.js";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import type { RunIdentifier } from "@gen/flyteidl2/common/identifier_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Button } from "@/design/button";
import { dateOf, duration } from "@/design/format";
import { Phase } from "@/design/phase";
import { Span, useNow, When } from "@/design/time";
import { titleOf } from "@/entities/action/title";
import { phaseOf } from "@/entities/run/listed";
import { t, tn } from "@/texts/texts";
import { every, Group, shown } from "./group";
import { lastLook, look } from "./look";
import { useFailed } from "./use-failed";
import { useSlow } from "./use-slow";
import { useTriggers } from "./use-triggers";
import css from "./attention.module.css";

/** What needs a person now, over all projects that the reader may see. onBegun is called when it has begun to read. */
export function Attention({ onBegun }: { readonly onBegun?: () => void }) {
  const [since, setSince] = useState(lastLook);
  const now = useNow(30_000);
  const options = { refetchInterval: every, retry: false } as const;
  const failed = useFailed(since);
  const paused = useQuery(InsightService.method.listPausedActions, { limit: shown + 1 }, options);
  const apps = useQuery(
    AppService.method.list,
    {
      filterBy: { case: "org", value: "flyte" },
      request: { limit: shown + 1, filters: [{ field: "status_phase", function: Filter_Function.VALUE_IN, values: ["DEPLOYMENT_STATUS_FAILED"] }] },
    },
    options,
  );
  const queues = useQuery(InsightService.method.listQueues, {}, options);
  const slow = useSlow(now);
  const triggers = useTriggers(since, now);
  useEffect(() => onBegun?.(), [onBegun]);
  const full = (queues.data?.queues ?? []).filter(
    ({ actions, maxActions, runs, maxRuns, depth }) => depth > 0n && ((maxActions > 0n && actions >= maxActions) || (maxRuns > 0n && runs >= maxRuns)),
  );
  const runs = failed.data?.runs ?? [];
  const conditions = paused.data?.actions ?? [];
  const broken = apps.data?.apps ?? [];
  const quiet = [runs, conditions, triggers, broken, full, slow].every((rows) => rows.length === 0);
  const known = failed.isSuccess && paused.isSuccess;
  if (quiet && !known) return null; // not read yet, or not served
  const seen = (
    <Button small onClick={() => setSince(look())}>
      {t("Mark as seen")}
    </Button>
  );
  return (
    <section className={css["attention"]} aria-labelledby="attention" data-testid="attention">
      <h2 id="attention">{t("Needs attention")}</h2>
      {quiet && (
        <p className={css["muted"]}>
          {t("No run has failed since {when}, and nothing waits for a person.", { when: <When at={new Date(since)} /> })}
        </p>
      )}
      <div className={css["groups"]}>
        <Group
          title={t("Failed")}
          rows={runs}
          keyOf={(run) => pathOf(run.action?.id?.run)}
          links={seen}
        >
          {(run) => (
            <RunRow run={run}>
              <When at={dateOf(run.action?.status?.endTime)} relative />
            </RunRow>
          )}
        </Group>
        <Group title={t("Waiting for a person")} rows={conditions} keyOf={({ actionId }) => `${pathOf(actionId?.run)}/${actionId?.name}`} links={<Link to="/inbox">{t("Inbox")}</Link>}>
          {({ actionId, condition, since: from }) => (
            <>
              <RunLink id={actionId?.run} action={actionId?.name}>
                {condition?.name ?? actionId?.name}
              </RunLink>
              <Where id={actionId?.run} /> <Span from={dateOf(from)} to={undefined} />
            </>
          )}
        </Group>
        <Group title={t("Triggers")} rows={triggers} keyOf={({ trigger }) => `${trigger.project}/${trigger.domain}/${trigger.taskName}/${trigger.name}`} links={seen}>
          {({ trigger: { project, domain, taskName, name }, overdue, failed: bad, of, run }) => (
            <>
              <Link to="/domain/$domain/project/$project/triggers/$task/$name" params={{ project, domain, task: taskName, name }}>
                {name}
              </Link>
              <span className={css["where"]}>
                {project} / {domain}, {taskName}
              </span>
              {overdue !== undefined && (
                <span className={css["bad"]}>
                  {t("overdue by {time}", { time: <Span from={new Date(overdue)} to={undefined} /> })}
                </span>
              )}
              {run !== undefined && (
                <Link className={css["bad"]} to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run }} title={t("The run that failed last")}>
                  {t("{failed} of the last {all} failed", { failed: bad, all: of })}
                </Link>
              )}
            </>
          )}
        </Group>
        <Group title={t("Slower than usual")} rows={slow} keyOf={({ run }) => pathOf(run.action?.id?.run)}>
          {({ run, usual }) => (
            <RunRow run={run}>
              <Span from={dateOf(run.action?.status?.startTime)} to={undefined} />
              <span className={css["muted"]}>{t("9 of 10 take up to {usual}", { usual: duration(usual) })}</span>
            </RunRow>
          )}
        </Group>
        <Group title={t("Failed apps")} rows={broken} keyOf={({ metadata }) => `${metadata?.id?.project}/${metadata?.id?.domain}/${metadata?.id?.name}`}>
          {({ metadata }) => {
            const id = metadata?.id;
            if (!id) return null;
            return (
              <>
                <Link to="/domain/$domain/project/$project/apps/$app" params={{ project: id.project, domain: id.domain, app: id.name }}>
                  {id.name}
                </Link>
                <span className={css["where"]}>
                  {id.project} / {id.domain}
                </span>
              </>
            );
          }}
        </Group>
        <Group title={t("Full queues")} rows={full} keyOf={({ name }) => name} links={<Link to="/system">{t("Queues")}</Link>}>
          {({ name, depth, oldestWaiting }) => (
            <>
              <strong>{name}</strong>
              <span className={css["muted"]}>
                {tn(Number(depth), "{n} action waits", "{n} actions wait")}
                {oldestWaiting && (
                  <>
                    {t(", the longest for {span}", { span: <Span from={dateOf(oldestWaiting)} to={undefined} /> })}
                  </>
                )}
              </span>
            </>
          )}
        </Group>
      </div>
    </section>
  );
}

const pathOf = (id: RunIdentifier | undefined): string => (id ? `${id.project}/${id.domain}/${id.name}` : "");

function RunRow({ run, children }: { readonly run: Run; readonly children: ReactNode }) {
  const { action } = run;
  if (!action) return null;
  return (
    <>
      <Phase phase={phaseOf(run)} compact />
      <RunLink id={action.id?.run}>{titleOf(action)}</RunLink>
      <Where id={action.id?.run} /> {children}
    </>
  );
}

function RunLink({ id, action, children }: { readonly id: RunIdentifier | undefined; readonly action?: string | undefined; readonly children: ReactNode }) {
  if (!id) return null;
  return (
    <Link
      to="/domain/$domain/project/$project/runs/$run"
      params={{ project: id.project, domain: id.domain, run: id.name }}
      search={action === undefined ? {} : { action }}
    >
      {children}
    </Link>
  );
}

/** The run, with its project and domain. */
function Where({ id }: { readonly id: RunIdentifier | undefined }) {
  return (
    <span className={css["where"]}>
      {id?.project} / {id?.domain}, {id?.name}
    </span>
  );
}
