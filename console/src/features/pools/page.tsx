import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { PoolInsightService, type Pool } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button, buttonClass } from "@/design/button";
import { count, dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import css from "@/design/list.module.css";
import type { PoolsSearch } from "./search";
import { every, policyWords, warmWords, workersWords } from "./words";
import { Workers } from "./workers";

/** The pools of reusable environments, the newest first, and the workers of the chosen one. */
export function PoolsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: PoolsSearch = useSearch({ strict: false });
  const { environment } = search;
  const place = { project, domain };
  useTitle("Worker pools", `${project} / ${domain}`);
  const answer = useInfiniteQuery({
    queryKey: ["pools", project, domain, environment],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(PoolInsightService).listPools(
        { projectId: { organization: "flyte", name: project, domain }, environment: environment ?? "", limit: 100, token: pageParam },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
  const pools = answer.data?.pages.flatMap((page) => page.pools) ?? [];
  const chosen = pools.find((pool) => pool.id === BigInt(search.pool ?? 0)) ?? (pools.length === 1 ? pools[0] : undefined);
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Worker pools</h1>
        {environment !== undefined && (
          <span>
            of environment <code>{environment}</code>{" "}
            <Link to="/domain/$domain/project/$project/pools" params={place} className={buttonClass("plain", true)}>
              All environments
            </Link>
          </span>
        )}
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="worker pools" />}
      {answer.isSuccess && pools.length === 0 && (
        <Empty title={environment === undefined ? "No worker pools" : "No worker pools of this environment"}>
          <p>
            Tasks of environments with <code>reusable=flyte.ReusePolicy(…)</code> share workers. A pool is listed until ten minutes after its last work.
          </p>
        </Empty>
      )}
      {pools.length > 0 && (
        <table className={css["tasks"]} aria-label="Worker pools">
          <thead>
            <tr>
              <th scope="col">Environment</th>
              <th scope="col">Workers</th>
              <th scope="col">Running</th>
              <th scope="col">Waiting</th>
              <th scope="col">Warm starts</th>
              <th scope="col">Workers started</th>
              <th scope="col">Last work</th>
            </tr>
          </thead>
          <tbody>
            {pools.map((pool) => (
              <Row key={String(pool.id)} pool={pool} place={place} search={search} chosen={pool === chosen} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            {answer.isFetchingNextPage ? "Loading …" : "More pools"}
          </Button>
        </div>
      )}
      {chosen && <Workers key={String(chosen.id)} pool={chosen} place={place} />}
    </div>
  );
}

function Row({ pool, place, search, chosen }: { readonly pool: Pool; readonly place: Place; readonly search: PoolsSearch; readonly chosen: boolean }) {
  return (
    <tr data-testid="pool-row" data-name={pool.environment} aria-current={chosen}>
      <th scope="row">
        <Link to="/domain/$domain/project/$project/pools" params={place} search={{ ...search, pool: Number(pool.id) }}>
          {pool.environment}
        </Link>
        <span className={css["about"]}>
          version <code>{pool.version}</code>
        </span>
        {pool.run && (
          <span className={css["about"]}>
            only of run{" "}
            <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: pool.run }}>
              {pool.run}
            </Link>
          </span>
        )}
      </th>
      <td data-label="Workers">
        {workersWords(pool)}
        <span className={css["about"]}>{policyWords(pool)}</span>
        {pool.problem && <span className={css["about"]}>{pool.problem}</span>}
      </td>
      <td data-label="Running">{count(pool.running)}</td>
      <td data-label="Waiting">{count(pool.waiting)}</td>
      <td data-label="Warm starts">{warmWords(pool) ?? "–"}</td>
      <td data-label="Workers started">
        {count(pool.starts)}
        {pool.losses > 0n && `, ${count(pool.losses)} lost`}
      </td>
      <td data-label="Last work">
        <When at={dateOf(pool.workedAt)} relative />
      </td>
    </tr>
  );
}
