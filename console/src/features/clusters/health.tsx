import type { Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { dateOf } from "@/design/format";
import { Note } from "@/design/table";
import { useNow, When } from "@/design/time";

import { every, healthOf, leftWords, type HealthKind } from "./words";
import css from "./clusters.module.css";

const tones: Readonly<Record<HealthKind, string>> = { ready: "good", unseen: "fair", cordoned: "fair", draining: "fair", away: "bad", lost: "bad" };

/** How a cluster is, in words, since when, and by whom. */
export function Health({ cluster }: { readonly cluster: Cluster }) {
  const kind = healthOf(cluster, useNow(every));
  return (
    <span className={css["health"]} data-testid="health" data-health={kind}>
      <span className={css[tones[kind]]}>
        <HealthWords kind={kind} cluster={cluster} />
      </span>
      {(kind === "cordoned" || kind === "draining") && (cluster.stateBy !== "" || cluster.stateNote !== "") && (
        <Note>{[cluster.stateBy && `by ${cluster.stateBy}`, cluster.stateNote].filter(Boolean).join(": ")}</Note>
      )}
      {kind === "away" && cluster.lostAt && (
        <Note>
          What runs there is given up at <When at={dateOf(cluster.lostAt)} />
        </Note>
      )}
      {kind === "lost" && <Note>What ran there is given up as soon as another cluster takes work</Note>}
    </span>
  );
}

function HealthWords({ kind, cluster }: { readonly kind: HealthKind; readonly cluster: Cluster }) {
  switch (kind) {
    case "ready":
      return "Ready";
    case "unseen":
      return "Not connected yet";
    case "away":
    case "lost":
      return (
        <>
          {kind === "away" ? "Away" : "Lost: away"} since <When at={dateOf(cluster.seenAt)} />
        </>
      );
    case "cordoned":
      return (
        <>
          Cordoned since <When at={dateOf(cluster.stateAt)} />
        </>
      );
    case "draining":
      return (
        <>
          Draining, {leftWords(cluster)},{" "}
          {cluster.drainUntil ? (
            <>
              until <When at={dateOf(cluster.drainUntil)} />
            </>
          ) : (
            <>
              since <When at={dateOf(cluster.stateAt)} />
            </>
          )}
        </>
      );
  }
}
