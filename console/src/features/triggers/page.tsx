import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import type { Trigger } from "@gen/flyteidl2/trigger/trigger_definition_pb.js";
import { TriggerService } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { Input, Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { triggerKinds, type TriggersSearch } from "./search";
import { automationWords, filtersOf, kindWords } from "./words";
import css from "@/design/list.module.css";

/** The triggers of a project's domain, active ones first. */
export function TriggersPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: TriggersSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle("Triggers", `${project} / ${domain}`);
  const wanted = useDeferredValue(search);
  const answer = useInfiniteQuery({
    queryKey: ["triggers", project, domain, wanted],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(TriggerService).listTriggers(
        {
          request: { limit: 100, token: pageParam, filters: filtersOf(wanted) },
          scopeBy: { case: "projectId", value: { organization: "flyte", name: project, domain } },
        },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) === 1 ? 10_000 : false),
  });
  const triggers = answer.data?.pages.flatMap((page) => page.triggers) ?? [];
  const go = (next: TriggersSearch) =>
    void navigate({ to: "/domain/$domain/project/$project/triggers", params: { domain, project }, search: next, replace: true });
  const { q, active, kind, ...rest } = search;
  const set = (key: "q" | "active" | "kind", value: string | boolean | undefined) => {
    const all: Record<string, unknown> = { ...rest, q, active, kind, [key]: value };
    go(Object.fromEntries(Object.entries(all).filter(([, one]) => one !== undefined && one !== "")));
  };
  const filtered = Object.keys(search).length > 0;
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Triggers</h1>
        <Input
          type="search"
          data-filter
          className={css["search"]}
          aria-label="Find triggers"
          placeholder="Find triggers by name"
          autoComplete="off"
          value={q ?? ""}
          onChange={(event) => set("q", event.target.value)}
        />
        <Select
          className={css["versions"]}
          aria-label="State"
          value={active === undefined ? "" : String(active)}
          onChange={(event) => set("active", event.target.value === "" ? undefined : event.target.value === "true")}
        >
          <option value="">On and off</option>
          <option value="true">On</option>
          <option value="false">Off</option>
        </Select>
        <Select className={css["versions"]} aria-label="Kind" value={kind ?? ""} onChange={(event) => set("kind", event.target.value)}>
          <option value="">All kinds</option>
          {triggerKinds.map((known) => (
            <option key={known} value={known}>
              {kindWords[known]}
            </option>
          ))}
        </Select>
        {search.task !== undefined && (
          <span>
            of task <code>{search.task}</code>{" "}
            <Button small onClick={() => go(Object.fromEntries(Object.entries(search).filter(([key]) => key !== "task")))}>
              All tasks
            </Button>
          </span>
        )}
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="triggers" />}
      {answer.isSuccess &&
        triggers.length === 0 &&
        (filtered ? (
          <Empty title="No triggers match" />
        ) : (
          <Empty title="No triggers deployed yet" command={`flyte create trigger -p ${project} -d ${domain} TASK NAME --schedule '0 9 * * *'`} />
        ))}
      {triggers.length > 0 && (
        <table className={css["tasks"]} aria-label="Triggers">
          <thead>
            <tr>
              <th scope="col">Trigger</th>
              <th scope="col">Task</th>
              <th scope="col">Fires</th>
              <th scope="col">State</th>
              <th scope="col">Last fired</th>
              <th scope="col">Deployed</th>
            </tr>
          </thead>
          <tbody>
            {triggers.map((trigger) => (
              <Row key={`${trigger.id?.name?.taskName ?? ""}\n${trigger.id?.name?.name ?? ""}`} trigger={trigger} place={{ project, domain }} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            {answer.isFetchingNextPage ? "Loading …" : "More triggers"}
          </Button>
        </div>
      )}
    </div>
  );
}

function Row({ trigger, place }: { readonly trigger: Trigger; readonly place: Place }) {
  const name = trigger.id?.name?.name ?? "";
  const task = trigger.id?.name?.taskName ?? "";
  return (
    <tr data-testid="trigger-row" data-name={name}>
      <th scope="row">
        <Link to="/domain/$domain/project/$project/triggers/$task/$name" params={{ ...place, task, name }}>
          {name}
        </Link>
      </th>
      <td data-label="Task">
        <Link to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task }}>
          {task}
        </Link>
      </td>
      <td data-label="Fires">{automationWords(trigger.automationSpec)}</td>
      <td data-label="State">
        <Tag>{trigger.active ? "On" : "Off"}</Tag>
      </td>
      <td data-label="Last fired">{trigger.status?.triggeredAt ? <When at={dateOf(trigger.status.triggeredAt)} relative /> : "–"}</td>
      <td data-label="Deployed">
        <When at={dateOf(trigger.status?.deployedAt)} relative />
      </td>
    </tr>
  );
}
