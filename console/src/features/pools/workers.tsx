import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { PoolInsightService, WorkerState, type Pool, type Worker, type WorkerAttempt } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { Span, When } from "@/design/time";
import css from "@/design/list.module.css";
import { every, stateWords } from "./words";

/** The workers of a pool, and what each of them runs. */
export function Workers({ pool, place }: { readonly pool: Pool; readonly place: Place }) {
  const answer = useInfiniteQuery({
    queryKey: ["workers", place, String(pool.id)],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(PoolInsightService).listWorkers(
        { projectId: { organization: "flyte", name: place.project, domain: place.domain }, poolId: pool.id, limit: 100, token: pageParam },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
  const workers = answer.data?.pages.flatMap((page) => page.workers) ?? [];
  return (
    <section className={css["section"]} aria-labelledby="workers">
      <h2 id="workers">Workers of {pool.environment}</h2>
      {pool.problem && (
        <Notice tone="warning" title="Workers of this pool cannot start" role="status">
          <p>{pool.problem}</p>
          {pool.retryAt && (
            <p>
              The next try is at <When at={dateOf(pool.retryAt)} />.
            </p>
          )}
        </Notice>
      )}
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="workers" />}
      {answer.isSuccess && workers.length === 0 && <p className={css["muted"]}>The pool has no workers. One is started for the next action.</p>}
      {workers.length > 0 && (
        <table className={css["tasks"]} aria-label="Workers">
          <thead>
            <tr>
              <th scope="col">Worker</th>
              <th scope="col">State</th>
              <th scope="col">Runs now</th>
              <th scope="col">Attempts</th>
              <th scope="col">Started</th>
              <th scope="col">Up for</th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <Row key={worker.id} worker={worker} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            {answer.isFetchingNextPage ? "Loading …" : "More workers"}
          </Button>
        </div>
      )}
    </section>
  );
}

function Row({ worker }: { readonly worker: Worker }) {
  const { id, state, attempts, slots, given, reason, reserve } = worker;
  return (
    <tr data-testid="worker-row" data-id={id}>
      <th scope="row">
        <code>{id}</code>
      </th>
      <td data-label="State">
        <Tag>{stateWords[state]}</Tag>
        {reserve && <span className={css["about"]}>in reserve for nested actions</span>}
        {reason && <span className={css["about"]}>{reason}</span>}
      </td>
      <td data-label="Runs now">
        {attempts.length === 0 && "–"}
        {attempts.map((attempt) => (
          <Attempt key={`${attempt.actionId?.run?.name}/${attempt.actionId?.name}/${attempt.attempt}`} attempt={attempt} />
        ))}
        {state === WorkerState.LIVE && slots > 1 && (
          <span className={css["about"]}>
            {count(attempts.length)} of {count(slots)} slots
          </span>
        )}
      </td>
      <td data-label="Attempts">{count(given)}</td>
      <td data-label="Started">
        <When at={dateOf(worker.createdAt)} relative />
      </td>
      <td data-label="Up for">{worker.connectedAt ? <Span from={dateOf(worker.connectedAt)} to={dateOf(worker.goneAt)} /> : "–"}</td>
    </tr>
  );
}

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
        {actionId.name} of {run.name}
      </Link>
      {attempt > 1 && <span className={css["muted"]}>, attempt {attempt}</span>}
    </div>
  );
}
