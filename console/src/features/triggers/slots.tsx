import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { TriggerInsightService, type Slot } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { client } from "@/api/transport";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Empty } from "@/design/notice";
import type { Column } from "@/design/table";
import { When } from "@/design/time";
import { t } from "@/texts/texts";
import type { TriggerId } from "./id";
import { VersionLink } from "./version-link";
import { stateWords } from "./words";

/** The slots of a trigger with their runs, newest first. */
export function Slots({ id, next }: { readonly id: TriggerId; readonly next: Timestamp | undefined }) {
  const answer = useInfiniteQuery({
    queryKey: ["trigger-slots", id],
    initialPageParam: undefined as Timestamp | undefined,
    queryFn: ({ pageParam, signal }) =>
      client(TriggerInsightService).listSlots({ name: id, limit: 50, ...(pageParam && { before: pageParam }) }, { signal }),
    getNextPageParam: (page) => (page.more ? page.slots.at(-1)?.time : undefined),
    // Only while one page is loaded: with more, a refresh would move the rows that are being read.
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) === 1 ? 5_000 : false),
  });
  return (
    <DataTable
      what={t("runs")}
      label={t("Runs")}
      more={t("Older runs")}
      empty={
        <Empty title={t("No runs yet")}>
          {next && (
            <p>
              {t("Next run: {when}", { when: <When at={dateOf(next)} /> })}
            </p>
          )}
        </Empty>
      }
      answer={answer}
      rows={answer.data?.pages.flatMap((page) => page.slots) ?? []}
      columns={columns}
      keyOf={({ time, artifact }) => `${time?.seconds ?? 0n}.${time?.nanos ?? 0} ${artifact?.version ?? ""}`}
    />
  );
}

const columns: readonly Column<Slot>[] = [
  {
    label: t("Scheduled for"),
    cell: ({ time, artifact }) => (
      <>
        <When at={dateOf(time)} />
        {artifact && (
          <>
            {" "}
            <VersionLink artifact={artifact} />
          </>
        )}
      </>
    ),
  },
  { label: t("State"), cell: ({ state }) => <Tag>{stateWords(state)}</Tag> },
  {
    label: t("Run"),
    cell: ({ runId }) =>
      runId ? (
        <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: runId.domain, project: runId.project, run: runId.name }}>
          {runId.name}
        </Link>
      ) : (
        "–"
      ),
  },
  { label: t("Revision"), cell: ({ revision }) => String(revision) },
  { label: t("Reason"), cell: ({ reason, backfill }) => [reason, backfill > 0n && t("Backfill {backfill}.", { backfill: String(backfill) })].filter(Boolean).join(" ") || "–" },
];
