import { Link } from "@tanstack/react-router";
import { PoolInsightService, WorkerState, type Pool, type Worker, type WorkerAttempt } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { Tag } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Notice } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { Span, When } from "@/design/time";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";
import { every, stateWords } from "./words";

/** The workers of a pool, and what each of them runs. */
export function Workers({ pool, place }: { readonly pool: Pool; readonly place: Place }) {
  const { answer, rows } = usePages(
    ["workers", place, String(pool.id)],
    (token, signal) =>
      client(PoolInsightService).listWorkers(
        { projectId: { organization: "flyte", name: place.project, domain: place.domain }, poolId: pool.id, limit: 100, token },
        { signal },
      ),
    (page) => page.workers,
    { keep: true, refresh: every, refreshAll: true },
  );
  return (
    <section className={css["section"]} aria-labelledby="workers">
      <h2 id="workers">{t("Workers of {environment}", { environment: pool.environment })}</h2>
      {pool.problem && (
        <Notice tone="warning" title={t("Workers of this pool cannot start")} role="status">
          <p>{pool.problem}</p>
          {pool.retryAt && (
            <p>
              {t("The next try is at {when}.", { when: <When at={dateOf(pool.retryAt)} /> })}
            </p>
          )}
        </Notice>
      )}
      <DataTable
        what={t("workers")}
        label={t("Workers")}
        empty={<p className={css["muted"]}>{t("The pool has no workers. One is started for the next action.")}</p>}
        answer={answer}
        rows={rows}
        columns={columns}
        keyOf={({ id }) => id}
        attributesOf={({ id }) => ({ "data-testid": "worker-row", "data-id": id })}
      />
    </section>
  );
}

const columns: readonly Column<Worker>[] = [
  { label: t("Worker"), cell: ({ id }) => <code>{id}</code> },
  {
    label: t("State"),
    cell: ({ state, reserve, reason }) => (
      <>
        <Tag>{stateWords[state]}</Tag>
        {reserve && <Note>{t("in reserve for nested actions")}</Note>}
        {reason && <Note>{reason}</Note>}
      </>
    ),
  },
  {
    label: t("Current action"),
    cell: ({ state, attempts, slots }) => (
      <>
        {attempts.length === 0 && "–"}
        {attempts.map((attempt) => (
          <Attempt key={`${attempt.actionId?.run?.name}/${attempt.actionId?.name}/${attempt.attempt}`} attempt={attempt} />
        ))}
        {state === WorkerState.LIVE && slots > 1 && (
          <Note>
            {t("{attempts} of {slots} slots", { attempts: count(attempts.length), slots: count(slots) })}
          </Note>
        )}
      </>
    ),
  },
  { label: t("Attempts"), cell: ({ given }) => count(given) },
  { label: t("Started"), cell: ({ createdAt }) => <When at={dateOf(createdAt)} relative /> },
  { label: t("Uptime"), cell: ({ connectedAt, goneAt }) => (connectedAt ? <Span from={dateOf(connectedAt)} to={dateOf(goneAt)} /> : "–") },
];

function Attempt({ attempt: { actionId, attempt } }: { readonly attempt: WorkerAttempt }) {
  const run = actionId?.run;
  if (!run) return null;
  return (
    <div>
      <Link
        to="/domain/$domain/project/$project/runs/$run"
        params={{ domain: run.domain, project: run.project, run: run.name }}
        search={{ action: actionId.name }}
      >
        {t("{action} of {run}", { action: actionId.name, run: run.name })}
      </Link>
      {attempt > 1 && <span className={css["muted"]}>{t(", attempt {attempt}", { attempt })}</span>}
    </div>
  );
}
