import type { AppReplica, AppUse, ExplainAppResponse } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { Button } from "@/design/button";
import { Facts, Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Loading } from "@/design/notice";
import { Table } from "@/design/table";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { sayMessage } from "@/texts/server";
import { t } from "@/texts/texts";
import { saysTheSame } from "./headline";
import { Message } from "./message";
import { Traffic } from "./traffic";
import { Used } from "./used";
import { rangeOf, scalingWords } from "./words";
import page from "@/design/page.module.css";

/** What runs of an app, its load, and what it uses. */
export function Overview({ explained, onLog }: { readonly explained: ExplainAppResponse | undefined; readonly onLog: (replica: string) => void }) {
  if (!explained) return <Loading what={t("overview")} />;
  const { app, serving, wanted, wantedBecause, replicas, traffic, uses } = explained;
  const conditions = app?.status?.conditions ?? [];
  const message = conditions.at(-1)?.message ?? "";
  return (
    <>
      <Facts
        facts={[
          [t("Serving"), serving > 0n ? t("revision {serving}", { serving }) : t("no revision")],
          [t("Latest revision"), String(app?.metadata?.revision ?? 0n)],
          [t("Last message"), message !== "" && !saysTheSame(message, explained.summary) && <Message key="message" of={sayMessage(message)} />],
          [t("Replicas"), [t("{wanted} of {range}", { wanted, range: rangeOf(app?.spec?.autoscaling) }), sayMessage(wantedBecause).text].filter(Boolean).join(": ")],
          [t("Scales at"), scalingWords(app?.spec?.autoscaling)],
          [t("Cluster"), app?.status?.assignedCluster],
          [t("Author"), whoIs(app?.spec?.creator)],
          [t("Created"), app && <When key="created" at={dateOf(app.status?.createdAt)} />],
          [t("Last started"), app?.status?.lastStartedAt && <When key="started" at={dateOf(app.status.lastStartedAt)} />],
        ]}
      />
      <Traffic traffic={traffic} />
      <section className={page["section"]} aria-label={t("Replicas")}>
        <h2>{t("Replicas")}</h2>
        <Replicas replicas={replicas} said={[message, explained.summary]} onLog={onLog} />
      </section>
      {uses.length > 0 && (
        <section className={page["section"]} aria-label={t("Uses")}>
          <h2>{t("Uses")}</h2>
          <Uses uses={uses} />
        </section>
      )}
    </>
  );
}

/** The state of a replica in one word. The end of a replica matters more than whether it is ready. */
function stateOf({ ready, draining, gone, phase }: AppReplica): string {
  if (gone) return t("Terminated");
  if (draining) return t("Draining");
  return ready ? t("Ready") : phase || t("Starting");
}

interface ReplicasProps {
  readonly replicas: readonly AppReplica[];
  /** What the page has said already. */
  readonly said: readonly string[];
  readonly onLog: (replica: string) => void;
}

function Replicas({ replicas, said, onLog }: ReplicasProps) {
  if (replicas.length === 0) return <p className={page["muted"]}>{t("No running replicas")}</p>;
  return (
    <Table
      label={t("Replicas")}
      rows={replicas}
      keyOf={({ name }) => name}
      columns={[
        { label: t("Replica"), cell: ({ name }) => name },
        {
          label: t("State"),
          cell: (replica) => (
            <span>
              <Tag>{stateOf(replica)}</Tag>{" "}
              {replica.reason && !said.some((text) => saysTheSame(text, replica.reason)) && <Message of={sayMessage(replica.reason)} />}
            </span>
          ),
        },
        { label: t("Revision"), cell: ({ revision }) => String(revision) },
        { label: t("Restarts"), cell: ({ restarts }) => restarts },
        { label: t("Started"), cell: ({ startedAt }) => <When at={dateOf(startedAt)} relative /> },
        { label: t("Node"), cell: ({ node }) => node },
        {
          label: t("Log"),
          hideLabel: true,
          cell: ({ name }) => (
            <Button small aria-label={t("Log of {name}", { name })} onClick={() => onLog(name)}>
              {t("Log")}
            </Button>
          ),
        },
      ]}
    />
  );
}

function Uses({ uses }: { readonly uses: readonly AppUse[] }) {
  return <Facts facts={uses.map((use) => [use.input, <Used key={use.input} {...use} />] as const)} />;
}
