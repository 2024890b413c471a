import { AppInsightService } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Empty } from "@/design/notice";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { sayMessage } from "@/texts/server";
import { t } from "@/texts/texts";
import { AppStatus } from "./app-status";
import type { AppId } from "./id";
import { Message } from "./message";
import { shownAs } from "./words";

/** What happened to an app, newest first. */
export function History({ id }: { readonly id: AppId }) {
  const { answer, rows } = usePages(
    ["app-events", id],
    (token, signal) => client(AppInsightService).listAppEvents({ appId: id, limit: 50, token }, { signal }),
    (page) => page.events,
    { refresh: 5_000 },
  );
  return (
    <DataTable
      what={t("history")}
      label={t("History")}
      more={t("Older events")}
      empty={<Empty title={t("No events yet")} />}
      answer={answer}
      rows={rows}
      keyOf={({ seq }) => String(seq)}
      columns={[
        { label: t("Time"), cell: ({ time }) => <When at={dateOf(time)} /> },
        { label: t("State"), cell: ({ status, substate }) => <AppStatus shown={shownAs(status, substate)} /> },
        { label: t("Revision"), cell: ({ revision }) => String(revision) },
        { label: t("Message"), cell: ({ message }) => <Message of={sayMessage(message)} /> },
        { label: t("By"), cell: ({ actor }) => whoIs(actor) || t("the system") },
      ]}
    />
  );
}
