import { useCallback, useMemo } from "react";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { Place } from "@/app/place";
import { joined, orderOf } from "./merge";
import { namesOf } from "@/entities/run/listed";
import { sourcesOf, type RunsSearch } from "./search";
import { useRuns, type Runs } from "./use-runs";

/** The runs of the installation and the tracked ones, in one list. A filter by source may leave one kind out. */
export function useAllRuns(place: Place, search: RunsSearch): Runs {
  const kinds = kindsOf(search);
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
    onSeen,
  };
}

/** The kinds of runs that a search can find. */
function kindsOf(search: RunsSearch): readonly ("own" | "tracked")[] {
  const sources = sourcesOf(search);
  const any = sources.length === 0;
  if (search.cluster !== undefined) return ["own"]; // no cluster runs the actions of tracked runs
  return [
    ...(any || sources.some((source) => source !== RunSource.TRACKED) ? (["own"] as const) : []),
    ...(search.paused !== true && (any || sources.includes(RunSource.TRACKED)) ? (["tracked"] as const) : []),
  ];
}
