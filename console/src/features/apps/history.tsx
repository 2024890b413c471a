import { AppInsightService } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Empty } from "@/design/notice";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
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
      what="history"
      label="History"
      more="Older events"
      empty={<Empty title="No events yet" />}
      answer={answer}
      rows={rows}
      keyOf={({ seq }) => String(seq)}
      columns={[
        { label: "Time", cell: ({ time }) => <When at={dateOf(time)} /> },
        { label: "State", cell: ({ status, substate }) => <AppStatus shown={shownAs(status, substate)} /> },
        { label: "Revision", cell: ({ revision }) => String(revision) },
        { label: "Message", cell: ({ message }) => <Message text={message} /> },
        { label: "By", cell: ({ actor }) => whoIs(actor) || "the system" },
      ]}
    />
  );
}
