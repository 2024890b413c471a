import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ClusterRegistryService, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { client } from "@/api/transport";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Facts, Tag } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { DenialNotice, Loading, Notice, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { everywhere } from "@/entities/access/rights";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import { Bars } from "./bars";
import { ClusterButtons } from "./buttons";
import { Credentials } from "./credentials";
import { ClusterDialogs, type ClusterChange } from "./dialogs";
import { Events } from "./events";
import { Health } from "./health";
import { Placed } from "./placed";
import { Use } from "./use";
import { Waits } from "./waits";
import { every, running, waiting, workWords } from "./words";
import css from "@/design/page.module.css";
import own from "./clusters.module.css";

/** A cluster: how it is, what it has, who uses it and what waits for it. */
export function ClusterPage() {
  const { cluster: name = "" } = useParams({ strict: false });
  const [change, setChange] = useState<ClusterChange>();
  const navigate = useNavigate();
  const noView = useDenied(ClusterRegistryService.method.getCluster, everywhere);
  useTitle(t("Cluster {name}", { name }));
  const { data, error, refetch } = useQuery({
    queryKey: ["cluster", name],
    queryFn: ({ signal }) => client(ClusterRegistryService).getCluster({ name }, { signal }),
    refetchInterval: every,
    enabled: useMayRead(noView),
  });
  const cluster = data?.cluster;
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{t("Cluster {name}", { name })}</h1>
        {cluster && (
          <div className={css["actions"]}>
            <ClusterButtons cluster={cluster} onChange={setChange} />
          </div>
        )}
      </div>
      <p>
        <Link to="/clusters">{t("All clusters")}</Link>
      </p>
      {noView && <DenialNotice title={t("You may not see clusters here")} denial={noView} />}
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!noView && !error && !cluster && <Loading what={t("cluster")} />}
      {cluster && <Parts cluster={cluster} onChange={setChange} />}
      <ClusterDialogs
        change={change}
        onClose={() => setChange(undefined)}
        onChanged={() => (change?.kind === "remove" ? void navigate({ to: "/clusters" }) : void refetch())}
      />
    </div>
  );
}

function Parts({ cluster, onChange }: { readonly cluster: Cluster; readonly onChange: (change: ClusterChange) => void }) {
  const { name } = cluster;
  const noIssue = useDenied(ClusterRegistryService.method.issueCredential, everywhere);
  return (
    <>
      <Health cluster={cluster} />
      {cluster.versionNote !== "" && (
        <Notice tone="warning" title={t("Versions differ")} role="status">
          <p>{t("The controller has {version}.", { version: cluster.versionNote })}</p>
        </Notice>
      )}
      <section className={css["section"]} aria-labelledby="capacity">
        <h2 id="capacity">{t("Capacity")}</h2>
        {Object.keys(cluster.capacity).length > 0 ? (
          <Bars cluster={cluster} />
        ) : (
          <p className={css["muted"]}>{t("Unknown: {reason}", { reason: cluster.seenAt ? t("its controller may not read nodes.") : t("no controller has connected yet.") })}</p>
        )}
      </section>
      <section className={css["section"]} aria-labelledby="work">
        <h2 id="work">{t("Work")}</h2>
        <p>
          {t("{running} running and {waiting} waiting actions; {work} in total.", { running: count(running(cluster)), waiting: count(waiting(cluster)), work: workWords(cluster) })}
        </p>
        <Use cluster={name} />
        <Placed cluster={name} />
      </section>
      <Waits cluster={name} />
      <section className={css["section"]} aria-labelledby="details">
        <h2 id="details">{t("Details")}</h2>
        <Details cluster={cluster} />
      </section>
      <section className={css["section"]} aria-labelledby="credentials">
        <div className={css["head"]}>
          <h2 id="credentials">{t("Credentials")}</h2>
          <Button small denied={noIssue} onClick={() => onChange({ kind: "issue", name })} aria-label={t("Issue credential for {name}", { name })}>
            {t("Issue credential")}
          </Button>
        </div>
        <div data-testid="credentials">
          <Credentials of={cluster.credentials} onRevoke={(credential) => onChange({ kind: "revoke", credential })} />
        </div>
      </section>
      <Events cluster={name} />
    </>
  );
}

const tags = (all: readonly string[]) =>
  all.length > 0 && (
    <span className={own["tags"]}>
      {all.map((one) => (
        <Tag key={one}>{one}</Tag>
      ))}
    </span>
  );

function Details({ cluster }: { readonly cluster: Cluster }) {
  const { version, controllers, connectedAt, seenAt, createdBy, createdAt } = cluster;
  const { plugins, taskTypes, accelerators, labels, givenLabels, pools, weight, policy, stores } = cluster;
  return (
    <Facts
      facts={[
        [t("Version"), seenAt && (version || t("Unnamed"))],
        [t("Controllers connected"), seenAt && count(controllers)],
        [t("Connected"), connectedAt && <When key="connected" at={dateOf(connectedAt)} />],
        [t("Last seen"), seenAt && <When key="seen" at={dateOf(seenAt)} relative />],
        [t("Plugins"), tags(plugins)],
        [t("Task types"), tags(taskTypes)],
        [t("Accelerators"), tags(accelerators)],
        [
          t("Labels"),
          tags(
            Object.entries(labels)
              .sort()
              .map(([key, value]) => `${key}=${value}${key in givenLabels ? ` ${t("(set by operators)")}` : ""}`),
          ),
        ],
        [t("Parts of the object store"), tags(stores)],
        [t("Cluster pools"), tags(pools)],
        [t("Weight"), weight === 0 ? t("0: gets only work that names it or one of its pools") : count(weight)],
        [t("Digest of its pod policy"), policy && <code key="policy">{policy}</code>],
        [
          t("Added"),
          <span key="added">
            <When at={dateOf(createdAt)} /> {createdBy ? t("by {who}", { who: createdBy }) : t("by itself")}
          </span>,
        ],
      ]}
    />
  );
}
