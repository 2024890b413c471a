import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { FoundSchema, type Found } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { AppService } from "@gen/flyteidl2/app/app_service_pb.js";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { serviceOf, sourceOf } from "@/entities/run/kind";
import { joined, orderOf } from "@/features/runs/merge";
import { isTracked } from "@/entities/run/listed";
import { client } from "@/api/transport";
import { titleOf } from "@/entities/action/title";
import { isRunName } from "./address";
import type { Place } from "@/app/place";

const limit = 8;
/** How many runs are offered before anything is typed. */
const newest = 5;
/** How long the text must be unchanged before it is searched for, in milliseconds. */
const debounce = 150;

function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), debounce);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Runs, tasks and projects that match the text, and apps of the place; the latest runs of the place while it is empty. */
export function useFound(typed: string, here: Place | undefined) {
  const query = useSettled(typed.trim()).slice(0, 100);
  const answer = useQuery({
    queryKey: ["found", query, here],
    queryFn: ({ signal }) => (query === "" ? latest(here, signal) : look(query, here, signal)),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return { found: answer.data ?? [], looking: answer.isFetching || query !== typed.trim(), error: answer.error };
}

async function look(query: string, here: Place | undefined, signal: AbortSignal): Promise<readonly Found[]> {
  try {
    const [{ found }, apps] = await Promise.all([client(InsightService).search({ query, limit }, { signal }), here ? appsNamed(query, here, signal) : []]);
    return [...found, ...apps];
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
  }
  // Another server of the Flyte contract has no search: its lists are filtered instead.
  return (await Promise.all([runsNamed(query, here, signal), here ? tasksNamed(query, here, signal) : []])).flat();
}

const scope = (here: Place) => ({ case: "projectId", value: { organization: "flyte", name: here.project, domain: here.domain } }) as const;

const foundRun = (run: Run): Found =>
  create(FoundSchema, {
    kind: "run",
    project: run.action?.id?.run?.project ?? "",
    domain: run.action?.id?.run?.domain ?? "",
    name: run.action?.id?.run?.name ?? "",
    title: run.action ? titleOf(run.action) : "",
    phase: run.action?.status?.phase ?? 0,
    runSource: sourceOf({ tracked: isTracked(run) }),
  });

async function latest(here: Place | undefined, signal: AbortSignal): Promise<readonly Found[]> {
  if (!here) return [];
  const ask = (tracked: boolean) => client(serviceOf({ tracked })).listRuns({ request: { limit: newest }, scopeBy: scope(here) }, { signal });
  const [own, tracked] = await Promise.all([ask(false), ask(true).catch(withoutTracked)]);
  return joined({ runs: own.runs, more: false }, { runs: tracked.runs, more: false }, orderOf.newest).slice(0, newest).map(foundRun);
}

/** A server without tracked runs does not serve them; then there are none to offer. */
function withoutTracked(error: unknown): { readonly runs: readonly Run[] } {
  if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
  return { runs: [] };
}

/** Searches for a complete name everywhere, and for a part of one in the place. */
async function runsNamed(query: string, here: Place | undefined, signal: AbortSignal): Promise<readonly Found[]> {
  const asked = [
    ...(isRunName(query)
      ? [
          {
            request: { limit, filters: [{ function: Filter_Function.EQUAL, field: "name", values: [query] }] },
            scopeBy: { case: "org", value: "flyte" } as const,
          },
        ]
      : []),
    ...(here
      ? [{ request: { limit, filters: [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "task_name", values: [query] }] }, scopeBy: scope(here) }]
      : []),
  ];
  const answers = await Promise.all(asked.map((request) => client(RunService).listRuns(request, { signal })));
  return answers.flatMap(({ runs }) => runs.map(foundRun)).slice(0, limit);
}

async function tasksNamed(query: string, here: Place, signal: AbortSignal): Promise<readonly Found[]> {
  const { tasks } = await client(TaskService).listTasks(
    { request: { limit, filters: [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [query] }] }, scopeBy: scope(here) },
    { signal },
  );
  return tasks.map(({ taskId, metadata }) =>
    create(FoundSchema, {
      kind: "task",
      project: taskId?.project ?? "",
      domain: taskId?.domain ?? "",
      name: taskId?.name ?? "",
      title: metadata?.shortName ?? "",
    }),
  );
}

/** The server's search does not cover apps, so their list is filtered. */
async function appsNamed(query: string, here: Place, signal: AbortSignal): Promise<readonly Found[]> {
  try {
    const { apps } = await client(AppService).list(
      {
        request: { limit, filters: [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [query] }] },
        filterBy: { case: "project", value: { organization: "flyte", name: here.project, domain: here.domain } },
      },
      { signal },
    );
    return apps.map(({ metadata }) => create(FoundSchema, { kind: "app", ...here, name: metadata?.id?.name ?? "" }));
  } catch (error) {
    if (signal.aborted) throw error;
    return []; // runs and tasks can be found without them
  }
}
