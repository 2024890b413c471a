import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { AuditService, type AuditEvent } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { Field, Input, Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty, Notice } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { useDenied } from "@/entities/access/use-denied";
import { AuditSearch, outcomes } from "./search";
import { procedureWords } from "./words";
import css from "@/design/page.module.css";

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
  useTitle("Audit");
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
    (page) => page.events,
    { keep: true },
  );
  return (
    <ListPage
      title="Audit"
      what="events"
      label="Audit events"
      scroll="region"
      head={
        <>
          <Filters key={JSON.stringify(search)} search={search} />
        </>
      }
      empty={denied === undefined && <Empty title="No events match these filters" />}
      answer={denied === undefined ? answer : { ...answer, error: null, isLoading: false, hasNextPage: false }}
      rows={denied === undefined ? rows : []}
      columns={columns}
      keyOf={({ sequence }) => String(sequence)}
      attributesOf={({ permission, outcome }) => ({ "data-testid": "audit-row", "data-permission": permission, "data-outcome": outcome })}
    >
      {denied !== undefined && (
        <Notice title="You may not read the audit here" role="status">
          <p>{denied} If you have that role in a project, filter by this project.</p>
        </Notice>
      )}
    </ListPage>
  );
}

const columns: readonly Column<AuditEvent>[] = [
  { label: "Time", cell: ({ at }) => <When at={dateOf(at)} /> },
  {
    label: "Who",
    cell: ({ subject, kind, credential, peer }) => (
      <>
        {subject || kind}
        <Note>{[subject && kind, credential, peer].filter(Boolean).join(", ")}</Note>
      </>
    ),
  },
  {
    label: "What",
    cell: ({ procedure, permission }) => (
      <>
        {permission}
        <Note>{procedureWords(procedure)}</Note>
      </>
    ),
  },
  { label: "On", wrap: true, cell: ({ resources }) => resources.join(", ") || "–" },
  {
    label: "Outcome",
    wrap: true,
    cell: ({ outcome, error }) => (
      <>
        <Tag>{outcome}</Tag>
        {error && <Note>{error}</Note>}
      </>
    ),
  },
  { label: "Request", cell: ({ requestId }) => requestId || "–" },
];

/** The filters. They take effect when the form is sent, for each search is itself a call. */
function Filters({ search }: { readonly search: AuditSearch }) {
  const navigate = useNavigate();
  const text = (name: "subject" | "permission" | "project" | "domain", label: string, hint?: string) => (
    <Field label={label}>
      {(control) => <Input {...control} name={name} placeholder={hint} autoComplete="off" autoCapitalize="none" defaultValue={search[name] ?? ""} />}
    </Field>
  );
  const time = (name: "from" | "until", label: string) => (
    <Field label={label}>{(control) => <Input {...control} name={name} type="datetime-local" defaultValue={search[name] ?? ""} />}</Field>
  );
  return (
    <form
      role="search"
      aria-label="Audit events"
      className={css["head"]}
      style={{ alignItems: "end", flexBasis: "100%" }}
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({ to: "/audit", search: AuditSearch(Object.fromEntries(new FormData(event.currentTarget))) });
      }}
    >
      {text("subject", "Subject")}
      {text("permission", "Permission", "such as run.create")}
      <Field label="Outcome">
        {(control) => (
          <Select {...control} name="outcome" defaultValue={search.outcome ?? ""}>
            <option value="">Any</option>
            {outcomes.map((outcome) => (
              <option key={outcome}>{outcome}</option>
            ))}
          </Select>
        )}
      </Field>
      {text("project", "Project")}
      {text("domain", "Domain")}
      {time("from", "From (UTC)")}
      {time("until", "Until (UTC)")}
      <Button type="submit" kind="primary">
        Search
      </Button>
      {Object.keys(search).length > 0 && (
        <Button kind="quiet" onClick={() => void navigate({ to: "/audit", search: {} })}>
          Clear filters
        </Button>
      )}
    </form>
  );
}
