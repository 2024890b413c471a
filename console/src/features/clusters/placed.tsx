import { Link } from "@tanstack/react-router";
import { AppService } from "@gen/flyteidl2/app/app_service_pb.js";
import type { App } from "@gen/flyteidl2/app/app_definition_pb.js";
import { PoolInsightService, type Pool } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { count } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Note, type Column } from "@/design/table";
import { AppStatus } from "@/features/apps/app-status";
import { routeTo } from "@/features/apps/id";
import { shownOf } from "@/features/apps/words";
import { workersWords } from "@/features/pools/words";
import { t } from "@/texts/texts";
import { every } from "./words";
import css from "@/design/page.module.css";

const pageSize = 20;

/** The apps and the worker pools of a cluster that the reader may see. */
export function Placed({ cluster }: { readonly cluster: string }) {
  return (
    <>
      <h3>{t("Apps")}</h3>
      <Apps cluster={cluster} />
      <h3>{t("Worker pools")}</h3>
      <Pools cluster={cluster} />
    </>
  );
}

function Apps({ cluster }: { readonly cluster: string }) {
  const { answer, rows } = usePages(
    ["cluster", cluster, "apps"],
    (token, signal) => client(AppService).list({ filterBy: { case: "clusterId", value: { name: cluster } }, request: { limit: pageSize, token } }, { signal }),
    (page) => page.apps,
    { keep: true, refresh: every },
  );
  return (
    <DataTable
      what={t("apps")}
      label={t("Apps")}
      empty={<p className={css["muted"]}>{t("No apps that you may see are here.")}</p>}
      answer={answer}
      rows={rows}
      columns={apps}
      keyOf={({ metadata }) => `${metadata?.id?.project}/${metadata?.id?.domain}/${metadata?.id?.name}`}
    />
  );
}

const apps: readonly Column<App>[] = [
  {
    label: t("App"),
    cell: ({ metadata }) =>
      metadata?.id && (
        <>
          <Link to="/domain/$domain/project/$project/apps/$app" params={routeTo(metadata.id)}>
            {metadata.id.name}
          </Link>
          <Note>
            {metadata.id.project} / {metadata.id.domain}
          </Note>
        </>
      ),
    wrap: true,
  },
  { label: t("State"), cell: (app) => <AppStatus shown={shownOf(app)} />, wrap: true },
  { label: t("Replicas"), number: true, cell: ({ status }) => count(status?.currentReplicas ?? 0) },
];

function Pools({ cluster }: { readonly cluster: string }) {
  const { answer, rows } = usePages(
    ["cluster", cluster, "pools"],
    (token, signal) => client(PoolInsightService).listPools({ cluster, limit: pageSize, token }, { signal }),
    (page) => page.pools,
    { keep: true, refresh: every },
  );
  return (
    <DataTable
      what={t("worker pools")}
      label={t("Worker pools")}
      empty={<p className={css["muted"]}>{t("No worker pools that you may see are here.")}</p>}
      answer={answer}
      rows={rows}
      columns={pools}
      keyOf={({ id }) => String(id)}
    />
  );
}

const pools: readonly Column<Pool>[] = [
  {
    label: t("Environment"),
    cell: ({ id, projectId, environment }) => (
      <>
        <Link
          to="/domain/$domain/project/$project/pools"
          params={{ project: projectId?.name ?? "", domain: projectId?.domain ?? "" }}
          search={{ environment, pool: Number(id) }}
        >
          {environment}
        </Link>
        <Note>
          {projectId?.name} / {projectId?.domain}
        </Note>
      </>
    ),
    wrap: true,
  },
  { label: t("Workers"), cell: (pool) => workersWords(pool), wrap: true },
  { label: t("Running"), number: true, cell: ({ running }) => count(running) },
  { label: t("Waiting"), number: true, cell: ({ waiting }) => count(waiting) },
];
