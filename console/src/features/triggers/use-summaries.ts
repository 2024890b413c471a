import { useQueries } from "@tanstack/react-query";
import { TriggerInsightService, type TriggerSummary } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import type { Trigger } from "@gen/flyteidl2/trigger/trigger_definition_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";

/** How many triggers the server summarizes in one call. */
const most = 100;
const every = 10_000;

/** Identifies a trigger of a place. */
export const keyOf = ({ id }: Trigger): string => `${id?.name?.taskName ?? ""}\n${id?.name?.name ?? ""}`;

/** When triggers of a place fire next and how their latest runs ended, by key, as far as it is known. */
export function useSummaries({ project, domain }: Place, triggers: readonly Trigger[]): ReadonlyMap<string, TriggerSummary> {
  const keys = triggers.map(({ id }) => ({ taskName: id?.name?.taskName ?? "", name: id?.name?.name ?? "" }));
  const pages = Array.from({ length: Math.ceil(keys.length / most) }, (_, page) => keys.slice(page * most, (page + 1) * most));
  return useQueries({
    queries: pages.map((page) => ({
      queryKey: ["trigger-summaries", project, domain, page],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client(TriggerInsightService).summarizeTriggers({ projectId: { name: project, domain }, triggers: page }, { signal }),
      refetchInterval: every,
      retry: false,
    })),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }) => data?.summaries ?? []).map((one) => [`${one.trigger?.taskName ?? ""}\n${one.trigger?.name ?? ""}`, one])),
  });
}
