import { useState } from "react";
import { ClusterHealth, ClusterRegistryService, ClusterState, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { everywhere } from "@/entities/access/rights";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { Credentials } from "./credentials";
import { ClusterDialogs, type ClusterChange } from "./dialogs";
import css from "@/design/page.module.css";

const closed: Readonly<Partial<Record<ClusterState, string>>> = { [ClusterState.CORDONED]: "cordoned", [ClusterState.DRAINING]: "draining" };

/** The registered clusters and the credentials of their controllers, for operators. */
export function ClustersPage() {
  const [change, setChange] = useState<ClusterChange>();
  const noView = useDenied(ClusterRegistryService.method.listClusters, everywhere);
  const noAdd = useDenied(ClusterRegistryService.method.addCluster, everywhere);
  const noIssue = useDenied(ClusterRegistryService.method.issueCredential, everywhere);
  const noRemove = useDenied(ClusterRegistryService.method.removeCluster, everywhere);
  const noCordon = useDenied(ClusterRegistryService.method.cordonCluster, everywhere);
  const noDrain = useDenied(ClusterRegistryService.method.drainCluster, everywhere);
  const noUncordon = useDenied(ClusterRegistryService.method.uncordonCluster, everywhere);
  useTitle("Clusters");
  const { answer, rows } = usePages(
    ["clusters"],
    (token, signal) => client(ClusterRegistryService).listClusters({ limit: 100, token }, { signal }),
    (page) => page.clusters,
    { enabled: useMayRead(noView) },
  );
  const columns: readonly Column<Cluster>[] = [
    {
      label: "Name",
      cell: ({ name, createdBy, createdAt, state, health, seenAt, work }) => (
        <>
          {name} {closed[state] && <Tag>{closed[state]}</Tag>} {health === ClusterHealth.AWAY && <Tag>away</Tag>}
          <Note>
            {work?.actions ?? 0} actions, {work?.workers ?? 0} workers, {work?.apps ?? 0} apps
            {seenAt && (
              <>
                , seen <When at={dateOf(seenAt)} relative />
              </>
            )}
          </Note>
          <Note>
            Added by {createdBy} <When at={dateOf(createdAt)} relative />
          </Note>
        </>
      ),
    },
    { label: "Credentials", cell: ({ credentials }) => <Credentials of={credentials} onRevoke={(credential) => setChange({ kind: "revoke", credential })} />, wrap: true },
    {
      label: "Actions",
      hideLabel: true,
      cell: ({ name, state }) => (
        <div className={css["inline"]}>
          {closed[state] ? (
            <Button small denied={noUncordon} onClick={() => setChange({ kind: "uncordon", name })} aria-label={`Uncordon ${name}`}>
              Uncordon
            </Button>
          ) : (
            <Button small denied={noCordon} onClick={() => setChange({ kind: "cordon", name })} aria-label={`Cordon ${name}`}>
              Cordon
            </Button>
          )}
          <Button small denied={noDrain} onClick={() => setChange({ kind: "drain", name })} aria-label={`Drain ${name}`}>
            Drain
          </Button>
          <Button small denied={noIssue} onClick={() => setChange({ kind: "issue", name })} aria-label={`Issue credential for ${name}`}>
            Issue credential
          </Button>
          <Button small denied={noRemove} onClick={() => setChange({ kind: "remove", name })} aria-label={`Remove ${name}`}>
            Remove
          </Button>
        </div>
      ),
    },
  ];
  return (
    <ListPage
      title="Clusters"
      what="clusters"
      label="Clusters"
      head={
        <div className={css["actions"]}>
          <Button kind="primary" denied={noAdd} onClick={() => setChange({ kind: "add" })}>
            Add cluster
          </Button>
        </div>
      }
      empty={
        <Empty title="No registered clusters">
          <p>The server runs tasks on its own cluster. Add another one to get the credential with which its controller connects.</p>
        </Empty>
      }
      denied={noView}
      answer={answer}
      rows={rows}
      columns={columns}
      keyOf={({ name }) => name}
      attributesOf={({ name }) => ({ "data-testid": "cluster-row", "data-name": name })}
    >
      <ClusterDialogs change={change} onClose={() => setChange(undefined)} onChanged={() => void answer.refetch()} />
    </ListPage>
  );
}
