import { useCallback, useMemo } from "react";
import type { Place } from "@/app/place";
import { joined, orderOf } from "./merge";
import { namesOf } from "@/entities/run/listed";
import { kindsOf } from "@/entities/run/query/match";
import { tryQuery } from "@/entities/run/query/parse";
import type { RunsSearch } from "./search";
import { useRuns, type Runs } from "./use-runs";

/** The runs of the installation and the tracked ones, in one list. A filter by source may leave one kind out. */
export function useAllRuns(place: Place, search: RunsSearch): Runs {
  const query = tryQuery(search.query ?? "");
  const kinds = "node" in query ? kindsOf(query.node) : [];
  const own = useRuns(place, search, { tracked: false, enabled: kinds.includes("own") });
  const tracked = useRuns(place, search, { tracked: true, enabled: kinds.includes("tracked"), lazy: kinds.length > 1 });
  const shown = kinds.map((kind) => (kind === "own" ? own : tracked));
  const order = orderOf[search.sort ?? "newest"];
  const runs = useMemo(
    () => joined({ runs: own.runs, more: own.more }, { runs: tracked.runs, more: tracked.more }, order),
    [own.runs, own.more, tracked.runs, tracked.more, order],
  );
  const [seeOwn, seeTracked] = [own.onSeen, tracked.onSeen];
  const onSeen = useCallback(
    (keys: readonly string[]) => {
      seeOwn(namesOf(keys, false));
      seeTracked(namesOf(keys, true));
    },
    [seeOwn, seeTracked],
  );
  return {
    runs,
    live: shown.every((kind) => kind.live || (kind === tracked && kind.runs.length === 0 && !kind.loading)),
    loading: shown.some(({ loading }) => loading),
    problem: shown.find(({ problem }) => problem)?.problem,
    more: shown.some(({ more }) => more),
    loadMore: () => shown.forEach(({ loadMore }) => loadMore()),
    loadingMore: shown.some(({ loadingMore }) => loadingMore),
    refetch: () => shown.forEach(({ refetch }) => refetch()),
    // What is nearer to now: the lists are merged down to it.
    lookedUntil: shown.map(({ lookedUntil }) => lookedUntil).find(Boolean),
    ofNewest: shown.some(({ ofNewest }) => ofNewest),
    onSeen,
  };
}
