import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { WatchRunsResponse } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { problemOf, type Problem } from "@/api/problem";
import { client } from "@/api/transport";
import { useWatch } from "@/api/use-watch";
import type { Place } from "@/app/place";
import { pause } from "@/api/renewed";
import { serviceOf } from "@/entities/run/kind";
import { merged, refreshed } from "./merge";
import { useMe } from "@/entities/access/use-me";
import { matchesQuery } from "@/entities/run/query/match";
import { parseQuery } from "@/entities/run/query/parse";
import { canBeLive, listRequest, loadRuns, runsRequest } from "./request";
import { nameOf, triggerOf } from "@/entities/run/listed";
import type { RunsSearch } from "./search";

const pageSize = 100;
/** The poll interval of lists that no stream keeps up to date, in milliseconds. */
const pollInterval = 5000;
/** Updates are stored separately from the pages. Above this number, the pages are refetched. */
const maxUpdates = 2000;

/** The runs that match a search, as far as they are loaded. */
export interface Runs {
  readonly runs: readonly Run[];
  /** Whether a stream keeps the list up to date. */
  readonly live: boolean;
  /** Whether the first page is still loading. */
  readonly loading: boolean;
  readonly problem: Problem | undefined;
  readonly more: boolean;
  readonly loadMore: () => void;
  readonly loadingMore: boolean;
  readonly refetch: () => void;
  /** Set if the server stopped before it had looked at all runs: when the last that it looked at was created. */
  readonly lookedUntil: Date | undefined;
  /** Whether the order is that of the newest runs only. */
  readonly ofNewest: boolean;
  /** Reports which runs are visible, so that they are polled while the list is not live. */
  readonly onSeen: (names: readonly string[]) => void;
}

interface Updates {
  readonly runs: Map<string, Run>;
  /** Changes when the stream is reopened. */
  readonly opening: object;
}

/** A stream without messages; it ends before it counts as dead. */
// eslint-disable-next-line require-yield -- it has nothing to say
async function* silent(signal: AbortSignal): AsyncGenerator<WatchRunsResponse> {
  await pause(50_000, signal);
}

function addUpdates(updates: Updates | undefined, message: WatchRunsResponse): Updates {
  const next = updates ?? { runs: new Map<string, Run>(), opening: {} };
  if (message.runs.length === 0) return next;
  for (const run of message.runs) next.runs.set(nameOf(run), run);
  return { ...next };
}

/** Which runs a list has. */
export interface RunsKind {
  /** Those that clients execute and report, instead of the installation's own. */
  readonly tracked: boolean;
  /** If it is false, the list is empty and asks for nothing. */
  readonly enabled: boolean;
  /** Whether the list is polled until it has a run, since browsers allow few streams per server. */
  readonly lazy?: boolean;
}

export function useRuns(place: Place, search: RunsSearch, { tracked, enabled, lazy = false }: RunsKind = { tracked: false, enabled: true }): Runs {
  const { project, domain } = place;
  const service = serviceOf({ tracked });
  const me = useMe()?.subject || "anonymous"; // as the server calls who has no name
  const key = JSON.stringify([project, domain, search]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- "since" counts from the time of the search
  const now = useMemo(() => Date.now(), [key]);
  const [found, setFound] = useState("");
  const streams = enabled && (!lazy || found === `${project}/${domain}`);
  const updates = useWatch<WatchRunsResponse, Updates>(
    `${project}/${domain}/${tracked}/${streams}`,
    (signal) =>
      streams ? client(service).watchRuns({ target: { case: "projectId", value: { organization: "flyte", name: project, domain } } }, { signal }) : silent(signal),
    addUpdates,
  );
  const live = streams && canBeLive(search) && updates.problem === undefined;
  const [pages, setPages] = useState(1);
  // Not connect-query's hook: it leaves the field with the page token out of the key, and the filters with it.
  const answer = useInfiniteQuery({
    queryKey: ["runs", key, tracked],
    enabled,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      loadRuns(place, search, { limit: pageSize, token: pageParam, tracked }, signal),
    getNextPageParam: (page) => page.token || undefined,
    refetchInterval: !live && pages === 1 ? pollInterval : false,
  });
  const { data, refetch } = answer;
  const loaded = data?.pages.length ?? 0;
  if (loaded > 0 && loaded !== pages) setPages(loaded);
  if (lazy && !streams && data?.pages.some((page) => page.runs.length > 0)) setFound(`${project}/${domain}`);

  useRefetch(updates.state, () => void refetch());

  const seen = useSeen(place, enabled && !live && pages > 1, tracked);
  const runs = useMemo(() => {
    const listed = data?.pages.flatMap((page) => page.runs) ?? [];
    if (!live) return refreshed(listed, seen.runs);
    return merged(listed, data?.pages.at(-1)?.token !== "", updates.state?.runs ?? new Map<string, Run>(), (run) =>
      (search.untriggered !== true || !triggerOf(run)) && matchesQuery(parseQuery(search.query ?? ""), run, { now, me }),
    );
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the key contains the search
  }, [data, updates.state, seen.runs, live, key, now, me]);

  return {
    runs,
    live: live && updates.state !== undefined,
    loading: answer.isLoading,
    problem: answer.error ? problemOf(answer.error) : undefined,
    more: answer.hasNextPage,
    loadMore: () => {
      if (answer.hasNextPage && !answer.isFetching) void answer.fetchNextPage();
    },
    loadingMore: answer.isFetchingNextPage,
    refetch: () => void refetch(),
    lookedUntil: data?.pages.at(-1)?.lookedUntil,
    ofNewest: data?.pages.some((page) => page.ofNewest) ?? false,
    onSeen: seen.onSeen,
  };
}

/** Refetches when the stream was reopened, since it may have missed changes of older runs, and when there are too many updates. */
function useRefetch(updates: Updates | undefined, refetch: () => void): void {
  const [known, setKnown] = useState<object>();
  const opening = updates?.opening;
  const tooMany = (updates?.runs.size ?? 0) > maxUpdates;
  const reopened = known !== undefined && opening !== undefined && known !== opening;
  useEffect(() => {
    if (opening === undefined) return;
    setKnown(opening);
    if (reopened) refetch();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once for each opening
  }, [opening]);
  useEffect(() => {
    if (!tooMany) return;
    updates?.runs.clear();
    refetch();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once each time there are too many
  }, [tooMany]);
}

/** Polls the visible runs while it is enabled. */
function useSeen(place: Place, enabled: boolean, tracked: boolean) {
  const [names, setNames] = useState<readonly string[]>([]);
  const onSeen = useMemo(() => (next: readonly string[]) => setNames((now) => (now.join() === next.join() ? now : next)), []);
  const answer = useQuery(
    serviceOf({ tracked }).method.listRuns,
    runsRequest(place, listRequest(pageSize, "newest", [{ function: Filter_Function.VALUE_IN, field: "name", values: names.slice(0, pageSize) }])),
    { enabled: enabled && names.length > 0, refetchInterval: pollInterval, placeholderData: keepPreviousData },
  );
  const runs = useMemo(() => new Map((enabled ? (answer.data?.runs ?? []) : []).map((run) => [nameOf(run), run])), [answer.data, enabled]);
  return { runs, onSeen };
}
