import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { ClusterRegistryService, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Select } from "@/design/field";
import { count } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { everywhere } from "@/entities/access/rights";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { Bars } from "./bars";
import { ClusterButtons } from "./buttons";
import { ClusterDialogs, type ClusterChange } from "./dialogs";
import { Health } from "./health";
import { ClustersSearch, sorts } from "./search";
import { every, running, sorted, waiting, workWords } from "./words";
import css from "@/design/page.module.css";

/** The clusters of the installation: how they are, what they have and what they do. */
export function ClustersPage() {
  const [change, setChange] = useState<ClusterChange>();
  const { sort = "name" }: ClustersSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const noView = useDenied(ClusterRegistryService.method.listClusters, everywhere);
  const noAdd = useDenied(ClusterRegistryService.method.addCluster, everywhere);
  useTitle(t("Clusters"));
  const { answer, rows } = usePages(
    ["clusters"],
    (token, signal) => client(ClusterRegistryService).listClusters({ limit: 100, token }, { signal }),
    (page) => page.clusters,
    { enabled: useMayRead(noView), refresh: every, refreshAll: true },
  );
  return (
    <ListPage
      title={t("Clusters")}
      what={t("clusters")}
      label={t("Clusters")}
      head={
        <div className={css["actions"]}>
          {rows.length > 1 && (
            <Select
              className={css["select"] ?? ""}
              aria-label={t("Order")}
              value={sort}
              onChange={(event) => void navigate({ to: "/clusters", search: ClustersSearch({ sort: event.target.value }), replace: true })}
            >
              {sorts.map(([key, label]) => (
                <option key={key} value={key}>
                  {label}
                </option>
              ))}
            </Select>
          )}
          <Button kind="primary" denied={noAdd} onClick={() => setChange({ kind: "add" })}>
            {t("Add cluster")}
          </Button>
        </div>
      }
      empty={<NoClusters />}
      denied={noView}
      answer={answer}
      rows={sorted(rows, sort, Date.now())}
      columns={columns(setChange)}
      keyOf={({ name }) => name}
      attributesOf={({ name }) => ({ "data-testid": "cluster-row", "data-name": name })}
    >
      <ClusterDialogs change={change} onClose={() => setChange(undefined)} onChanged={() => void answer.refetch()} />
    </ListPage>
  );
}

/** What to do when nothing is registered. Without accounts anybody may add a cluster, so a command needs nothing else. */
function NoClusters() {
  const open = useMe()?.open === true;
  const command = `curl -X POST ${location.origin}/flytebinary.clusters.v1.ClusterRegistryService/AddCluster -H 'Content-Type: application/json' -d '{"name": "east"}'`;
  return (
    <Empty title={t("No clusters")} {...(open && { command })}>
      <p>{t("No controller has connected yet. Add a cluster to get the credential with which its controller connects.")}</p>
    </Empty>
  );
}

const columns = (onChange: (change: ClusterChange) => void): readonly Column<Cluster>[] => [
  {
    label: t("Cluster"),
    cell: ({ name, pools, labels }) => (
      <>
        <Link to="/clusters/$cluster" params={{ cluster: name }}>
          {name}
        </Link>
        {pools.length > 0 && <Note>{t("pools {pools}", { pools: pools.join(", ") })}</Note>}
        {Object.keys(labels).length > 0 && (
          <Note>
            {Object.entries(labels)
              .sort()
              .map(([key, value]) => `${key}=${value}`)
              .join(", ")}
          </Note>
        )}
      </>
    ),
    wrap: true,
  },
  { label: t("Health"), cell: (cluster) => <Health cluster={cluster} />, wrap: true },
  {
    label: t("Version"),
    cell: ({ version, versionNote, plugins, seenAt }) => (
      <>
        {seenAt ? version || t("Unnamed") : "–"}
        {versionNote !== "" && <Note>{versionNote}</Note>}
        {plugins.length > 0 && <Note>{plugins.join(", ")}</Note>}
      </>
    ),
    wrap: true,
  },
  { label: t("Capacity"), cell: (cluster) => <Bars cluster={cluster} brief /> },
  {
    label: t("Work"),
    cell: (cluster) => (
      <>
        {t("{running} running, {waiting} waiting{note}", { running: count(running(cluster)), waiting: count(waiting(cluster)), note: <Note>{workWords(cluster)}</Note> })}
      </>
    ),
    wrap: true,
  },
  { label: t("Actions"), hideLabel: true, cell: (cluster) => <ClusterButtons cluster={cluster} onChange={onChange} /> },
];
