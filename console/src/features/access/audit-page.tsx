import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useSearch } from "@tanstack/react-router";
import { AuditService, type AuditEvent } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { permissionWords } from "@/entities/access/permissions";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import { AuditFilters } from "./audit-filters";
import { AuditSearch } from "./search";
import { Verify } from "./verify";
import { outcomeNote, procedureWords } from "./words";

const timeOf = (text: string | undefined) => {
  const at = new Date(`${text ?? ""}Z`);
  return Number.isNaN(at.getTime()) ? undefined : timestampFromDate(at);
};

/** What was done, and what was refused, newest first, for those who may read it. The filters are in the URL. */
export function AuditPage() {
  const search: AuditSearch = useSearch({ strict: false });
  const { subject = "", permission = "", outcome = "", project = "", domain = "", from, until } = search;
  const scope = { project, domain };
  const denied = useDenied(AuditService.method.searchAudit, scope);
  useTitle(t("Audit"));
  const { answer, rows } = usePages(
    ["access", "audit", search],
    (token, signal) => {
      const [first, end] = [timeOf(from), timeOf(until)];
      return client(AuditService).searchAudit(
        {
          ...{ subject, permission, outcome, limit: 100, token },
          ...((project !== "" || domain !== "") && { scope }),
          ...(first && { from: first }),
          ...(end && { until: end }),
        },
        { signal },
      );
    },
    (page) => [...page.unfinished, ...page.events],
    { enabled: useMayRead(denied), keep: true },
  );
  return (
    <ListPage
      title={t("Audit")}
      what={t("events")}
      label={t("Audit events")}
      head={
        <>
          <Verify />
          <AuditFilters key={JSON.stringify(search)} search={search} />
        </>
      }
      empty={<Empty title={t("No events match these filters")} />}
      denied={denied && { ...denied, why: t("{why} If you have that role in a project, filter by this project.", { why: denied.why }) }}
      answer={answer}
      rows={rows}
      columns={columns}
      keyOf={({ sequence, at, procedure, requestId }) => (sequence > 0n ? String(sequence) : [at?.seconds, at?.nanos, procedure, requestId].join(" "))}
      attributesOf={({ permission, outcome }) => ({ "data-testid": "audit-row", "data-permission": permission, "data-outcome": outcome })}
    />
  );
}

const columns: readonly Column<AuditEvent>[] = [
  { label: t("Time"), cell: ({ at }) => <When at={dateOf(at)} /> },
  {
    label: t("Who"),
    wrap: true,
    cell: ({ subject, kind, credential, peer, userAgent }) => (
      <span>
        {subject || kind}
        <Note>{[subject && kind, credential, peer, userAgent].filter(Boolean).join(", ")}</Note>
      </span>
    ),
  },
  {
    label: t("What"),
    wrap: true,
    cell: ({ procedure, permission, requestId }) => (
      <span title={permission && permissionWords(permission)}>
        {permission || "–"}
        <Note>{procedureWords(procedure)}</Note>
        {requestId && <Note>{t("request {id}", { id: requestId })}</Note>}
      </span>
    ),
  },
  { label: t("On"), wrap: true, cell: ({ resources }) => <span>{resources.join(", ") || "–"}</span> },
  {
    label: t("Outcome"),
    wrap: true,
    cell: (event) => (
      <span>
        <Tag>{event.outcome === "unknown" ? t("outcome unknown") : event.outcome}</Tag>
        {(event.error || outcomeNote(event)) && <Note>{event.error || outcomeNote(event)}</Note>}
      </span>
    ),
  },
];
