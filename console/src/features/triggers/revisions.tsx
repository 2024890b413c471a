import { TriggerService } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { t } from "@/texts/texts";
import type { TriggerId } from "./id";
import { actionWords } from "./words";

/** What was done to a trigger, latest first. */
export function Revisions({ id }: { readonly id: TriggerId }) {
  const { answer, rows } = usePages(
    ["trigger-revisions", id],
    (token, signal) => client(TriggerService).getTriggerRevisionHistory({ name: id, request: { limit: 50, token } }, { signal }),
    (page) => page.triggers,
  );
  return (
    <DataTable
      what={t("revisions")}
      label={t("Revisions")}
      more={t("Older revisions")}
      answer={answer}
      rows={rows}
      keyOf={(revision) => String(revision.id?.revision)}
      columns={[
        { label: t("Revision"), cell: (revision) => String(revision.id?.revision) },
        { label: t("What"), cell: ({ action }) => actionWords(action) },
        { label: t("When"), cell: ({ createdAt }) => <When at={dateOf(createdAt)} /> },
        { label: t("Who"), cell: ({ metadata }) => whoIs(metadata?.updatedBy) },
      ]}
    />
  );
}
