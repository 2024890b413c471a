import { Link } from "@tanstack/react-router";
import { InsightService, type ClusterWait } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Note, type Column } from "@/design/table";
import { Span } from "@/design/time";
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
      <h2 id="waits">Waiting for this cluster</h2>
      <DataTable
        what="waiting actions"
        label="Waiting actions"
        empty={<p className={css["muted"]}>Nothing that you may see waits for this cluster.</p>}
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
    label: "Action",
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
  { label: "Asks for", cell: (wait) => askedWords(wait.asked) || "nothing", wrap: true },
  { label: "Waits for", cell: (wait) => whyWords(wait), wrap: true },
  { label: "Where", cell: ({ there }) => (there ? "on this cluster" : "for any cluster with room"), wrap: true },
  { label: "Since", cell: ({ createdAt }) => <Span from={dateOf(createdAt)} to={undefined} /> },
];

/** What an action waits for: "4 CPU; 1.5 are free". */
export function whyWords({ resource, asked: amounts, free, message }: Pick<ClusterWait, "resource" | "asked" | "free" | "message">): string {
  if (message !== "") return message;
  return `${asked(resource, amounts[resource] ?? 0n)}; free: ${asked(resource, free)}`;
}
