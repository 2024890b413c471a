import { ClusterRegistryService, type ClusterEvent } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { t } from "@/texts/texts";
import { eventWords, every } from "./words";
import css from "@/design/page.module.css";

/** What happened to a cluster, latest first. */
export function Events({ cluster }: { readonly cluster: string }) {
  const { answer, rows } = usePages(
    ["cluster", cluster, "events"],
    (token, signal) => client(ClusterRegistryService).listClusterEvents({ name: cluster, limit: 20, token }, { signal }),
    (page) => page.events,
    { keep: true, refresh: every },
  );
  return (
    <section className={css["section"]} aria-labelledby="events" data-testid="events">
      <h2 id="events">{t("Events")}</h2>
      <DataTable
        what={t("events")}
        label={t("Events")}
        empty={<p className={css["muted"]}>{t("No events yet.")}</p>}
        answer={answer}
        rows={rows}
        columns={columns}
        keyOf={({ at, kind, note }) => `${at?.seconds}.${at?.nanos} ${kind} ${note}`}
      />
    </section>
  );
}

const columns: readonly Column<ClusterEvent>[] = [
  {
    label: t("Event"),
    cell: ({ kind, note }) => (
      <>
        {eventWords[kind]}
        {note !== "" && <Note>{note}</Note>}
      </>
    ),
    wrap: true,
  },
  { label: t("By"), cell: ({ by }) => by || "–", wrap: true },
  { label: t("When"), cell: ({ at }) => <When at={dateOf(at)} /> },
];
