import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import type { TriggerSummary } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import type { Trigger } from "@gen/flyteidl2/trigger/trigger_definition_pb.js";
import { TriggerService } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { ListPage, SearchBox } from "@/design/list-page";
import { Empty } from "@/design/notice";
import type { Column } from "@/design/table";
import { When } from "@/design/time";
import { firstTrigger } from "@/entities/project/first-commands";
import { t } from "@/texts/texts";
import { Outcomes } from "./outcomes";
import { triggerKinds, type TriggersSearch } from "./search";
import { keyOf, useSummaries } from "./use-summaries";
import { automationWords, filtersOf, kindWords } from "./words";
import css from "@/design/page.module.css";

/** The triggers of a project's domain, active ones first. */
export function TriggersPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: TriggersSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(t("Triggers"), `${project} / ${domain}`);
  // The list follows the typing with a delay, so that not every key sends a request.
  const wanted = useDeferredValue(search);
  const { answer, rows } = usePages(
    ["triggers", project, domain, wanted],
    (token, signal) =>
      client(TriggerService).listTriggers(
        {
          request: { limit: 100, token, filters: filtersOf(wanted) },
          scopeBy: { case: "projectId", value: { organization: "flyte", name: project, domain } },
        },
        { signal },
      ),
    (page) => page.triggers,
    { keep: true, refresh: 10_000 },
  );
  const summaries = useSummaries({ project, domain }, rows);
  const go = (next: TriggersSearch) =>
    void navigate({ to: "/domain/$domain/project/$project/triggers", params: { domain, project }, search: next, replace: true });
  const { q, active, kind, ...rest } = search;
  const set = (key: "q" | "active" | "kind", value: string | boolean | undefined) => {
    const all: Record<string, unknown> = { ...rest, q, active, kind, [key]: value };
    // Unset parameters are left out of the URL, so that equal lists have equal links.
    go(Object.fromEntries(Object.entries(all).filter(([, one]) => one !== undefined && one !== "")));
  };
  return (
    <ListPage
      title={t("Triggers")}
      what={t("triggers")}
      label={t("Triggers")}
      head={
        <>
          <SearchBox what={t("triggers")} value={q ?? ""} onChange={(text) => set("q", text)} />
          <Select
            className={css["select"]}
            aria-label={t("State")}
            value={active === undefined ? "" : String(active)}
            onChange={(event) => set("active", event.target.value === "" ? undefined : event.target.value === "true")}
          >
            <option value="">{t("All states")}</option>
            <option value="true">{t("Enabled")}</option>
            <option value="false">{t("Disabled")}</option>
          </Select>
          <Select className={css["select"]} aria-label={t("Kind")} value={kind ?? ""} onChange={(event) => set("kind", event.target.value)}>
            <option value="">{t("All kinds")}</option>
            {triggerKinds.map((known) => (
              <option key={known} value={known}>
                {kindWords[known]}
              </option>
            ))}
          </Select>
          {search.task !== undefined && (
            <span>
              {t("of task {code}", { code: <code>{search.task}</code> })}{" "}
              <Button small onClick={() => go(Object.fromEntries(Object.entries(search).filter(([key]) => key !== "task")))}>
                {t("All tasks")}
              </Button>
            </span>
          )}
        </>
      }
      empty={
        Object.keys(search).length > 0 ? (
          <Empty title={t("No triggers match")} />
        ) : (
          <Empty title={t("No triggers deployed yet")} command={firstTrigger({ project, domain })}>
            {t("Deploy a task with one:")}
          </Empty>
        )
      }
      answer={answer}
      rows={rows}
      columns={columns({ project, domain }, summaries)}
      keyOf={keyOf}
      attributesOf={({ id }) => ({ "data-testid": "trigger-row", "data-name": id?.name?.name ?? "" })}
    />
  );
}

const columns = (place: Place, summaries: ReadonlyMap<string, TriggerSummary>): readonly Column<Trigger>[] => [
  {
    label: t("Trigger"),
    cell: ({ id }) => (
      <Link to="/domain/$domain/project/$project/triggers/$task/$name" params={{ ...place, task: id?.name?.taskName ?? "", name: id?.name?.name ?? "" }}>
        {id?.name?.name}
      </Link>
    ),
    wrap: true,
  },
  {
    label: t("Task"),
    cell: ({ id }) => (
      <Link to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task: id?.name?.taskName ?? "" }}>
        {id?.name?.taskName}
      </Link>
    ),
  },
  { label: t("Schedule"), cell: ({ automationSpec }) => automationWords(automationSpec) },
  { label: t("State"), cell: ({ active }) => <Tag>{active ? t("Enabled") : t("Disabled")}</Tag> },
  {
    label: t("Next run"),
    cell: (trigger) => {
      const next = dateOf(summaries.get(keyOf(trigger))?.next);
      return next ? <When at={next} /> : "–";
    },
  },
  {
    label: t("Latest runs"),
    cell: (trigger) => {
      const summary = summaries.get(keyOf(trigger));
      return summary ? <Outcomes latest={summary.latest} /> : "–";
    },
  },
  { label: t("Deployed"), cell: ({ status }) => <When at={dateOf(status?.deployedAt)} relative /> },
];
