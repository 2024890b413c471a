import { Link } from "@tanstack/react-router";
import { InsightService, type ClusterWait } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Note, type Column } from "@/design/table";
import { Span } from "@/design/time";
import { t } from "@/texts/texts";
import { asked, askedWords, every } from "./words";
import css from "@/design/page.module.css";

/** What waits for a cluster, and for which resource. */
export function Waits({ cluster }: { readonly cluster: string }) {
  const { answer, rows } = usePages(
    ["cluster", cluster, "waits"],
    (token, signal) => client(InsightService).listClusterWaits({ cluster, limit: 20, token }, { signal }),
    (page) => page.waits,
    { keep: true, refresh: every },
  );
  return (
    <section className={css["section"]} aria-labelledby="waits" data-testid="waits">
      <h2 id="waits">{t("Waiting for this cluster")}</h2>
      <DataTable
        what={t("waiting actions")}
        label={t("Waiting actions")}
        empty={<p className={css["muted"]}>{t("Nothing that you may see waits for this cluster.")}</p>}
        answer={answer}
        rows={rows}
        columns={columns}
        keyOf={({ actionId }) => `${actionId?.run?.project}/${actionId?.run?.domain}/${actionId?.run?.name}/${actionId?.name}`}
      />
    </section>
  );
}

const columns: readonly Column<ClusterWait>[] = [
  {
    label: t("Action"),
    cell: ({ actionId }) => {
      const { project = "", domain = "", name = "" } = actionId?.run ?? {};
      return (
        <>
          <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: name }} search={{ action: actionId?.name ?? "" }}>
            {name} / {actionId?.name}
          </Link>
          <Note>
            {project} / {domain}
          </Note>
        </>
      );
    },
    wrap: true,
  },
  { label: t("Asks for"), cell: (wait) => askedWords(wait.asked) || "nothing", wrap: true },
  { label: t("Waits for"), cell: (wait) => whyWords(wait), wrap: true },
  { label: t("Where"), cell: ({ there }) => (there ? t("on this cluster") : t("for any cluster with room")), wrap: true },
  { label: t("Since"), cell: ({ createdAt }) => <Span from={dateOf(createdAt)} to={undefined} /> },
];

/** What an action waits for: "4 CPU; 1.5 are free". */
export function whyWords({ resource, asked: amounts, free, message }: Pick<ClusterWait, "resource" | "asked" | "free" | "message">): string {
  if (message !== "") return message;
  return t("{asked}; free: {free}", { asked: asked(resource, amounts[resource] ?? 0n), free: asked(resource, free) });
}
