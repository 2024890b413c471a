import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { RunWait, WaitingRun } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { DataTable } from "@/design/data-table";
import { count, dateOf, msOf } from "@/design/format";
import { Empty } from "@/design/notice";
import { SaidText } from "@/design/said";
import { Note, type Column } from "@/design/table";
import { Span } from "@/design/time";
import { useMe, useRoles } from "@/entities/access/use-me";
import { nameOfPerson } from "@/entities/person/name-of-person";
import { whoIs } from "@/entities/person/who-is";
import { kindOfWait, sentencesOf, waitWords } from "@/entities/run/waits";
import { t } from "@/texts/texts";
import { changesOf, type Deciders } from "./changers";
import { kinds, type WaitingSearch } from "./search";
import css from "@/design/page.module.css";

/** How often the list is read again, in milliseconds. */
const every = 5000;

interface Row {
  readonly run: WaitingRun;
  readonly wait: RunWait;
}

/** Who waits for what over all projects, who is in front, and who can change it. */
export function WaitingPage() {
  useTitle(t("Waiting"));
  const { kind }: WaitingSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const me = useMe();
  const roles = useRoles(me?.open === false);
  const deciders = me?.open ? "everyone" : roles.length > 0 ? roles : undefined;
  const { answer, rows } = usePages(
    ["waits"],
    (token, signal) => client(InsightService).listWaits({ limit: 50, token }, { signal }),
    (page) => page.runs.flatMap((run) => run.waits.map((wait): Row => ({ run, wait }))),
    { refresh: every },
  );
  const of = (one: string) => rows.filter(({ wait }) => wait.wait && kindOfWait(wait.wait) === one);
  const shown = kind === undefined ? rows : of(kind);
  const go = (search: WaitingSearch) => void navigate({ to: "/waiting", search, replace: true });
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{t("Waiting")}</h1>
        <div className={css["actions"]} role="group" aria-label={t("Kinds of waits")}>
          <Button small aria-pressed={kind === undefined} onClick={() => go({})}>
            {t("All {rows}", { rows: count(rows.length) })}
          </Button>
          {kinds
            .filter(([one]) => one === kind || of(one).length > 0)
            .map(([one, label]) => (
              <Button key={one} small aria-pressed={kind === one} onClick={() => go({ kind: one })}>
                {label} {count(of(one).length)}
              </Button>
            ))}
        </div>
      </div>
      <DataTable
        what={t("waits")}
        label={t("Waits")}
        keys
        answer={answer}
        rows={shown}
        keyOf={({ run, wait }) => `${run.runId?.project}/${run.runId?.domain}/${run.runId?.name}/${wait.actionId?.name}`}
        attributesOf={({ run }) => ({ "data-name": run.runId?.name ?? "" })}
        empty={
          <Empty title={kind === undefined ? t("No run waits") : t("No run waits for this")}>
            <p>{t("Runs that wait for a person, a queue, capacity, an image or a limit appear here automatically.")}</p>
          </Empty>
        }
        columns={columnsOf(deciders)}
      />
    </div>
  );
}

const columnsOf = (deciders: Deciders): readonly Column<Row>[] => [
  {
    label: t("Run"),
    cell: ({ run: { runId, title, createdBy } }) => (
      <>
        <RunLink id={runId}>
          <span className="whole">{runId?.name}</span>
        </RunLink>
        <Note>
          {title} · {runId?.project} / {runId?.domain}
          {whoIs(createdBy) && ` · ${whoIs(createdBy)}`}
        </Note>
      </>
    ),
    sortBy: ({ run }) => run.runId?.name,
    wrap: true,
  },
  {
    label: t("Waits for"),
    cell: ({ run, wait }) => (
      <>
        <RunLink id={run.runId} action={wait.actionId?.name ?? ""}>
          {waitWords(wait)}
        </RunLink>
        <Note>
          {wait.wait && <SaidText of={sentencesOf(wait.wait)} />} {wait.assignee && t("Assigned to {name}.", { name: nameOfPerson(wait.assignee) })}{" "}
          {!run.waiting && t("The rest of the run works.")}
        </Note>
      </>
    ),
    sortBy: ({ wait }) => waitWords(wait),
    wrap: true,
  },
  { label: t("Actions"), number: true, cell: ({ wait }) => (wait.actions > 0 ? count(wait.actions) : "–"), sortBy: ({ wait }) => wait.actions, descending: true },
  { label: t("Since"), cell: ({ wait }) => <Span from={dateOf(wait.wait?.since)} to={undefined} />, sortBy: ({ wait }) => msOf(wait.wait?.since) },
  {
    label: t("Places are taken by"),
    cell: ({ wait: { holders } }) =>
      holders.length === 0
        ? "–"
        : holders.map(({ runId, places }) => (
            <div key={`${runId?.project}/${runId?.name}`}>
              <RunLink id={runId}>
                <span className="whole">{runId?.name}</span>
              </RunLink>{" "}
              ({count(places)})
            </div>
          )),
    wrap: true,
  },
  {
    label: t("Who can change it"),
    cell: ({ wait }) =>
      changesOf(wait, deciders).map(({ what, who }) => (
        <div key={what}>
          {what}
          <Note>{who}</Note>
        </div>
      )),
    wrap: true,
  },
];

interface RunLinkProps {
  readonly id: WaitingRun["runId"];
  readonly action?: string;
  readonly children: ReactNode;
}

function RunLink({ id, action, children }: RunLinkProps) {
  const { project = "", domain = "", name = "" } = id ?? {};
  return (
    <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: name }} search={action === undefined ? {} : { action }}>
      {children}
    </Link>
  );
}
