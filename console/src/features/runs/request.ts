import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Filter_Function, FilterSchema, ListRequestSchema, Sort_Direction, type ListRequest } from "@gen/flyteidl2/common/list_pb.js";
import type { ListRunsRequestSchema } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { Place } from "@/app/place";
import { msOf } from "@/design/format";
import { nameOf, ownerOf, triggerOf } from "@/entities/run/listed";
import { labelOf, phasesOf, sinceOf, sourcesOf, type RunsSearch, type Sort } from "./search";

type FilterInit = MessageInitShape<typeof FilterSchema>;

const one = (field: string, value: string, fn = Filter_Function.EQUAL): FilterInit => ({ function: fn, field, values: [value] });
const some = (field: string, values: readonly number[]): FilterInit => ({ function: Filter_Function.VALUE_IN, field, values: values.map(String) });

/** The API filters of a search, without paused, for which the request has a field. */
export function filtersOf(search: RunsSearch, now: number): FilterInit[] {
  const phases = phasesOf(search);
  const sources = sourcesOf(search);
  const since = sinceOf(search, now);
  return [
    ...(phases.length > 0 ? [some("phase", phases)] : []),
    ...(search.text === undefined ? [] : [one("name_or_task", search.text, Filter_Function.CONTAINS_CASE_INSENSITIVE)]),
    ...(search.task === undefined
      ? []
      : [search.task.startsWith("=") ? one("task_name", search.task.slice(1)) : one("task_name", search.task, Filter_Function.CONTAINS_CASE_INSENSITIVE)]),
    ...(search.owner === undefined ? [] : [one("created_by_subject", search.owner)]),
    ...(search.labels ?? [])
      .map(labelOf)
      .map(([key, value]) => (value === undefined ? { function: Filter_Function.EXISTS, field: `labels.${key}`, values: [] } : one(`labels.${key}`, value))),
    ...(sources.length > 0 ? [some("source", sources)] : []),
    ...(since ? [one("created_at", since.toISOString(), Filter_Function.GREATER_THAN_OR_EQUAL)] : []),
    ...(search.until === undefined ? [] : [one("created_at", new Date(search.until).toISOString(), Filter_Function.LESS_THAN)]),
    ...(search.cluster === undefined ? [] : [one("cluster", search.cluster)]),
    ...(search.trigger === undefined ? [] : [one("trigger_name", search.trigger)]),
    ...(search.trigger === "" ? [one("trigger_task_name", "")] : []), // both, in the order of their index
    ...(search.q === undefined ? [] : [one("name", search.q, Filter_Function.CONTAINS_CASE_INSENSITIVE)]),
  ];
}

const orders: Readonly<Record<Sort, readonly [key: string, direction: Sort_Direction]>> = {
  newest: ["created_at", Sort_Direction.DESCENDING],
  oldest: ["created_at", Sort_Direction.ASCENDING],
  updated: ["updated_at", Sort_Direction.DESCENDING],
  longest: ["duration_ms", Sort_Direction.DESCENDING],
  shortest: ["duration_ms", Sort_Direction.ASCENDING],
};

/** The request for the first page of a search. */
export function listRequest(search: RunsSearch, now: number, limit: number): ListRequest {
  const [key, direction] = orders[search.sort ?? "newest"];
  return create(ListRequestSchema, { limit, token: "", filters: filtersOf(search, now), sortByFields: [{ key, direction }] });
}

/** A request for the runs of a place. */
export const runsRequest = (place: Place, search: RunsSearch, request: ListRequest) =>
  ({
    request,
    scopeBy: { case: "projectId", value: { organization: "flyte", name: place.project, domain: place.domain } },
    pausedActionsOnly: search.paused === true,
  }) satisfies MessageInitShape<typeof ListRunsRequestSchema>;

/** Whether the stream of changes can keep a list up to date: it sends runs in creation order, and neither pending approvals nor clusters. */
export const canBeLive = (search: RunsSearch): boolean => search.sort === undefined && search.paused === undefined && search.cluster === undefined;

/** Whether a run matches a search, by the rules of the server. Only for searches that can be live. */
export function matches(search: RunsSearch, run: Run, now: number): boolean {
  const { action, labels } = run;
  const status = action?.status;
  const spec = action?.metadata?.spec;
  const task = (spec?.case === "task" ? spec.value.id?.name : undefined) ?? "";
  const phases = phasesOf(search);
  const sources = sourcesOf(search);
  const created = msOf(status?.startTime) ?? 0;
  const since = sinceOf(search, now);
  return (
    (phases.length === 0 || phases.includes(status?.phase ?? ActionPhase.UNSPECIFIED)) &&
    (search.text === undefined || has(`${nameOf(run)} ${task}`, search.text)) &&
    (search.task === undefined || (search.task.startsWith("=") ? task === search.task.slice(1) : has(task, search.task))) &&
    (search.owner === undefined || ownerOf(run) === search.owner) &&
    (search.labels ?? []).map(labelOf).every(([key, value]) => (value === undefined ? key in labels : labels[key] === value)) &&
    (sources.length === 0 || sources.includes(action?.metadata?.source ?? RunSource.UNSPECIFIED)) &&
    (!since || created >= since.getTime()) &&
    (search.until === undefined || created < Date.parse(search.until)) &&
    (search.trigger === undefined || triggerOf(run) === search.trigger) &&
    (search.q === undefined || has(nameOf(run), search.q))
  );
}

const has = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
