import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ProblemOrder, ProblemService, type Problem } from "@gen/flytebinary/insight/v1/problems_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Input, Select } from "@/design/field";
import { count, dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { t } from "@/texts/texts";
import { ProblemsSearch, spans, type Order } from "./search";
import page from "@/design/page.module.css";

const hour = 3_600_000;

const orderOf: Readonly<Record<Order, ProblemOrder>> = { failures: ProblemOrder.FAILURES, new: ProblemOrder.FIRST_SEEN };

/** The failures of a project's domain over its runs, by exception and place in the code. */
export function ProblemsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: ProblemsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(t("Problems"), `${project} / ${domain}`);
  const task = useDeferredValue(search.task ?? "");
  const { seen, order } = search;
  const { answer, rows } = usePages(
    ["problems", project, domain, task, seen, order],
    (token, signal) =>
      client(ProblemService).listProblems(
        {
          projectId: { name: project, domain },
          task,
          token,
          // To the hour, so that the pages of one list have one bound.
          ...(seen !== undefined && { seenSince: timestampFromMs((Math.floor(Date.now() / hour) - spans[seen]) * hour) }),
          ...(order !== undefined && { order: orderOf[order] }),
        },
        { signal },
      ),
    ({ problems }) => problems,
    { keep: true, refresh: 10_000 },
  );
  const change = (next: Readonly<Record<string, string>>) =>
    void navigate({
      to: "/domain/$domain/project/$project/problems",
      params: { domain, project },
      search: ProblemsSearch({ ...search, ...next }),
      replace: true,
    });
  const filtered = task !== "" || seen !== undefined;
  return (
    <ListPage
      title={t("Problems")}
      what={t("problems")}
      label={t("Problems")}
      head={
        <>
          <Input
            type="search"
            data-filter
            className={page["search"]}
            aria-label={t("Task")}
            placeholder={t("Full name of a task")}
            autoComplete="off"
            value={search.task ?? ""}
            onChange={({ target }) => change({ task: target.value })}
          />
          <Select
            className={page["select"]}
            aria-label={t("Seen")}
            value={seen ?? ""}
            onChange={({ target }) => change({ seen: target.value })}
          >
            <option value="">{t("Seen at any time")}</option>
            <option value="day">{t("Seen in the last 24 hours")}</option>
            <option value="week">{t("Seen in the last 7 days")}</option>
            <option value="month">{t("Seen in the last 30 days")}</option>
          </Select>
          <Select
            className={page["select"]}
            aria-label={t("Order")}
            value={order ?? ""}
            onChange={({ target }) => change({ order: target.value })}
          >
            <option value="">{t("Last seen first")}</option>
            <option value="new">{t("Newest first")}</option>
            <option value="failures">{t("Most failures first")}</option>
          </Select>
        </>
      }
      empty={<Empty title={filtered ? t("No problems match these filters") : t("No problems: no task has failed")} />}
      answer={answer}
      rows={rows}
      columns={columns({ project, domain })}
      keyOf={({ id }) => String(id)}
      attributesOf={({ code }) => ({ "data-testid": "problem-row", "data-code": code })}
    />
  );
}

const columns = (place: Place): readonly Column<Problem>[] => [
  {
    label: t("Problem"),
    wrap: true,
    cell: (problem) => (
      <>
        <Link to="/domain/$domain/project/$project/problems/$problem" params={{ ...place, problem: String(problem.id) }}>
          {problem.code}
        </Link>
        <Note>{problem.message}</Note>
      </>
    ),
  },
  {
    label: t("Where"),
    wrap: true,
    cell: ({ file, function: name, tasks }) => (
      <>
        {file !== "" && (
          <code>
            {file}:<wbr />
            {name}
          </code>
        )}
        <Note>{tasks.join(", ")}</Note>
      </>
    ),
  },
  { label: t("Failures"), number: true, cell: ({ failures }) => count(failures) },
  { label: t("Runs"), number: true, cell: ({ runs }) => count(runs) },
  { label: t("First seen"), cell: ({ firstSeen }) => <When at={dateOf(firstSeen)} /> },
  { label: t("Last seen"), cell: ({ lastSeen }) => <When at={dateOf(lastSeen)} relative /> },
];
