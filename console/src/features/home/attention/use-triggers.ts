import { useQuery } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { TriggerInsightService } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { Filter_Function, Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { TriggerService } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { client } from "@/api/transport";
import { every } from "./group";
import { troubledOf, worstFirst, type TroubledTrigger } from "./triggers";

/** How many active triggers are looked at, those that fired last first, in how many places. */
const most = { triggers: 200, ofPlace: 100, places: 10 };

/** The triggers of all projects whose run is overdue or whose latest runs failed since a time, the worst first. */
export function useTriggers(since: number, now: number): readonly TroubledTrigger[] {
  const active = useQuery(
    TriggerService.method.listTriggers,
    {
      scopeBy: { case: "org", value: "flyte" },
      request: {
        limit: most.triggers,
        filters: [{ field: "active", function: Filter_Function.EQUAL, values: ["true"] }],
        sortByFields: [{ key: "triggered_at", direction: Sort_Direction.DESCENDING }],
      },
    },
    { refetchInterval: every, retry: false },
  );
  const places = new Map<string, { readonly project: string; readonly domain: string; readonly triggers: { taskName: string; name: string }[] }>();
  for (const { id } of active.data?.triggers ?? []) {
    const { project = "", domain = "", taskName = "", name = "" } = id?.name ?? {};
    const key = `${project}/${domain}`;
    const place = places.get(key) ?? { project, domain, triggers: [] };
    places.set(key, place);
    if (place.triggers.length < most.ofPlace) place.triggers.push({ taskName, name });
  }
  const summaries = useQueries({
    queries: [...places.values()].slice(0, most.places).map(({ project, domain, triggers }) => ({
      queryKey: ["trigger-summaries", project, domain, triggers],
      queryFn: async ({ signal }: { signal: AbortSignal }) => ({
        place: { project, domain },
        summaries: (await client(TriggerInsightService).summarizeTriggers({ projectId: { name: project, domain }, triggers }, { signal })).summaries,
      }),
      refetchInterval: every,
      retry: false,
    })),
    combine: (answers) => answers.flatMap(({ data }) => (data ? [data] : [])),
  });
  return summaries.flatMap(({ place, summaries: found }) => troubledOf(place, found, since, now)).sort(worstFirst);
}
