import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService, type WatchRunsResponse } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { problemOf, type Problem } from "@/api/problem";
import { client } from "@/api/transport";
import { useWatch } from "@/api/use-watch";
import type { Place } from "@/app/place";
import { merged, refreshed } from "./merge";
import { canBeLive, listRequest, matches, nameOf, runsRequest } from "./request";
import type { RunsSearch } from "./search";

const pageSize = 100;
/** How often what no stream keeps up to date is looked up again, in milliseconds. */
const lookedUp = 5000;
/** What is heard is kept apart from the pages; when it is so much, the pages are read again. */
const muchHeard = 2000;

/** The runs that a search finds, as far as they were asked for. */
export interface Runs {
  readonly runs: readonly Run[];
  /** Whether changes are shown as they happen. */
  readonly live: boolean;
  /** Whether anything is known yet. */
  readonly loading: boolean;
  readonly problem: Problem | undefined;
  readonly more: boolean;
  readonly loadMore: () => void;
  readonly loadingMore: boolean;
  readonly again: () => void;
  /** Tells which runs are on the screen, so that they are looked up again where nothing is live. */
  readonly onSeen: (names: readonly string[]) => void;
}

interface Heard {
  readonly runs: Map<string, Run>;
  /** Differs when the stream was opened anew. */
  readonly opening: object;
}

function hear(heard: Heard | undefined, message: WatchRunsResponse): Heard {
  const next = heard ?? { runs: new Map<string, Run>(), opening: {} };
  if (message.runs.length === 0) return next;
  for (const run of message.runs) next.runs.set(nameOf(run), run);
  return { ...next };
}

export function useRuns(place: Place, search: RunsSearch): Runs {
  const { project, domain } = place;
  const key = JSON.stringify([project, domain, search]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- "since" counts from when it was asked
  const now = useMemo(() => Date.now(), [key]);
  const heard = useWatch<WatchRunsResponse, Heard>(
    `${project}/${domain}`,
    (signal) => client(RunService).watchRuns({ target: { case: "projectId", value: { organization: "flyte", name: project, domain } } }, { signal }),
    hear,
  );
  const live = canBeLive(search) && heard.problem === undefined;
  const [pages, setPages] = useState(1);
  // Not the query of connect-query: it leaves what has the page's token out of the key, and with it the conditions.
  const answer = useInfiniteQuery({
    queryKey: ["runs", key],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => client(RunService).listRuns(runsRequest(place, search, { ...listRequest(search, now, pageSize), token: pageParam }), { signal }),
    getNextPageParam: (page) => page.token || undefined,
    refetchInterval: !live && pages === 1 ? lookedUp : false,
  });
  const { data, refetch } = answer;
  const loaded = data?.pages.length ?? 0;
  if (loaded > 0 && loaded !== pages) setPages(loaded);

  useReadAgain(heard.state, () => void refetch());

  const seen = useSeen(place, !live && pages > 1);
  const runs = useMemo(() => {
    const listed = data?.pages.flatMap((page) => page.runs) ?? [];
    if (!live) return refreshed(listed, seen.runs);
    return merged(listed, data?.pages.at(-1)?.token !== "", heard.state?.runs ?? new Map<string, Run>(), (run) => matches(search, run, now));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- key stands for the search
  }, [data, heard.state, seen.runs, live, key, now]);

  return {
    runs,
    live: live && heard.state !== undefined,
    loading: answer.isLoading,
    problem: answer.error ? problemOf(answer.error) : undefined,
    more: answer.hasNextPage,
    loadMore: () => {
      if (answer.hasNextPage && !answer.isFetching) void answer.fetchNextPage();
    },
    loadingMore: answer.isFetchingNextPage,
    again: () => void refetch(),
    onSeen: seen.onSeen,
  };
}

/** Calls back when the stream was opened anew, and may have missed what happened to older runs, and when it said very much. */
function useReadAgain(heard: Heard | undefined, again: () => void): void {
  const [known, setKnown] = useState<object>();
  const opening = heard?.opening;
  const much = (heard?.runs.size ?? 0) > muchHeard;
  const reopened = known !== undefined && opening !== undefined && known !== opening;
  useEffect(() => {
    if (opening === undefined) return;
    setKnown(opening);
    if (reopened) again();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once for each opening
  }, [opening]);
  useEffect(() => {
    if (!much) return;
    heard?.runs.clear();
    again();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once each time it gets too much
  }, [much]);
}

/** Looks up what is on the screen again and again. */
function useSeen(place: Place, wanted: boolean) {
  const [names, setNames] = useState<readonly string[]>([]);
  const onSeen = useMemo(() => (next: readonly string[]) => setNames((now) => (now.join() === next.join() ? now : next)), []);
  const request = listRequest({}, 0, pageSize);
  const answer = useQuery(
    RunService.method.listRuns,
    runsRequest(place, {}, { ...request, filters: [{ $typeName: "flyteidl2.common.Filter", function: Filter_Function.VALUE_IN, field: "name", values: names.slice(0, pageSize) }] }),
    { enabled: wanted && names.length > 0, refetchInterval: lookedUp, placeholderData: keepPreviousData },
  );
  const runs = useMemo(() => new Map((wanted ? (answer.data?.runs ?? []) : []).map((run) => [nameOf(run), run])), [answer.data, wanted]);
  return { runs, onSeen };
}
