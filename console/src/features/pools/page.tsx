import { Link, useParams, useSearch } from "@tanstack/react-router";
import { PoolInsightService, type Pool } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { buttonClass } from "@/design/button";
import { count, dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { t } from "@/texts/texts";
import type { PoolsSearch } from "./search";
import { every, policyWords, slowWords, warmWords, workersWords } from "./words";
import { Workers } from "./workers";

/** The pools of reusable environments, the newest first, and the workers of the chosen one. */
export function PoolsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: PoolsSearch = useSearch({ strict: false });
  const { environment } = search;
  const place = { project, domain };
  useTitle(t("Worker pools"), `${project} / ${domain}`);
  const { answer, rows } = usePages(
    ["pools", project, domain, environment],
    (token, signal) =>
      client(PoolInsightService).listPools(
        { projectId: { organization: "flyte", name: project, domain }, environment: environment ?? "", limit: 100, token },
        { signal },
      ),
    (page) => page.pools,
    { keep: true, refresh: every, refreshAll: true },
  );
  const chosen = rows.find((pool) => pool.id === BigInt(search.pool ?? 0)) ?? (rows.length === 1 ? rows[0] : undefined);
  return (
    <ListPage
      title={t("Worker pools")}
      what={t("worker pools")}
      label={t("Worker pools")}
      more={t("More pools")}
      head={
        environment !== undefined && (
          <span>
            {t("of environment {code} {link}", { code: <code>{environment}</code>, link: <Link to="/domain/$domain/project/$project/pools" params={place} className={buttonClass("plain", true)}>
              {t("All environments")}
            </Link> })}
          </span>
        )
      }
      empty={
        <Empty title={environment === undefined ? t("No worker pools") : t("No worker pools of this environment")}>
          <p>
            {t("Tasks of environments with {code} share workers. Pools stay listed for 10 minutes after their last action.", { code: <code>reusable=flyte.ReusePolicy(…)</code> })}
          </p>
        </Empty>
      }
      answer={answer}
      rows={rows}
      columns={columns(place, search)}
      keyOf={({ id }) => String(id)}
      attributesOf={(pool) => ({ "data-testid": "pool-row", "data-name": pool.environment, "aria-current": pool === chosen })}
    >
      {chosen && <Workers key={String(chosen.id)} pool={chosen} place={place} />}
    </ListPage>
  );
}

const columns = (place: Place, search: PoolsSearch): readonly Column<Pool>[] => [
  {
    label: t("Environment"),
    cell: ({ id, environment, version, run }) => (
      <>
        <Link to="/domain/$domain/project/$project/pools" params={place} search={{ ...search, pool: Number(id) }}>
          {environment}
        </Link>
        <Note>
          {t("version {code}", { code: <code>{version}</code> })}
        </Note>
        {run && (
          <Note>
            {t("only of run {link}", { link: <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run }}>
              {run}
            </Link> })}
          </Note>
        )}
      </>
    ),
  },
  {
    label: t("Workers"),
    cell: (pool) => (
      <>
        {workersWords(pool)}
        <Note>{policyWords(pool)}</Note>
        {pool.problem && <Note>{pool.problem}</Note>}
      </>
    ),
  },
  { label: t("Running"), cell: ({ running }) => count(running) },
  { label: t("Waiting"), cell: ({ waiting }) => count(waiting) },
  {
    label: t("Warm starts"),
    cell: (pool) => (
      <>
        {warmWords(pool) ?? "–"}
        {slowWords(pool) && <Note>{slowWords(pool)}</Note>}
      </>
    ),
  },
  { label: t("Workers started"), cell: ({ starts, losses }) => `${count(starts)}${losses > 0n ? t(", {losses} lost", { losses: count(losses) }) : ""}` },
  { label: t("Last work"), cell: ({ workedAt }) => <When at={dateOf(workedAt)} relative /> },
];
