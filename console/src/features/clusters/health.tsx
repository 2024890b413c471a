import type { Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { dateOf } from "@/design/format";
import { Note } from "@/design/table";
import { useNow, When } from "@/design/time";

import { t } from "@/texts/texts";
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
        <Note>{[cluster.stateBy && t("by {who}", { who: cluster.stateBy }), cluster.stateNote].filter(Boolean).join(": ")}</Note>
      )}
      {kind === "away" && cluster.lostAt && (
        <Note>
          {t("What runs there is given up at {when}", { when: <When at={dateOf(cluster.lostAt)} /> })}
        </Note>
      )}
      {kind === "lost" && <Note>{t("What ran there is given up as soon as another cluster takes work")}</Note>}
    </span>
  );
}

function HealthWords({ kind, cluster }: { readonly kind: HealthKind; readonly cluster: Cluster }) {
  switch (kind) {
    case "ready":
      return t("Ready");
    case "unseen":
      return t("Not connected yet");
    case "away":
    case "lost":
      return (
        <>
          {t("{state} since {when}", { state: kind === "away" ? t("Away") : t("Lost: away"), when: <When at={dateOf(cluster.seenAt)} /> })}
        </>
      );
    case "cordoned":
      return (
        <>
          {t("Cordoned since {when}", { when: <When at={dateOf(cluster.stateAt)} /> })}
        </>
      );
    case "draining":
      return (
        <>
          {t("Draining, {left},", { left: leftWords(cluster) })}{" "}
          {cluster.drainUntil ? (
            <>
              {t("until {when}", { when: <When at={dateOf(cluster.drainUntil)} /> })}
            </>
          ) : (
            <>
              {t("since {when}", { when: <When at={dateOf(cluster.stateAt)} /> })}
            </>
          )}
        </>
      );
  }
}
