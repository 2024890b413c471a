import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { RunFold } from "@gen/flytebinary/insight/v1/runs_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { Place } from "@/app/place";
import { isFolding, keyOfFold, searchOfTrigger } from "./folds";
import { loadRuns } from "./request";
import type { RunsSearch } from "./search";

/** How often folds are read again, in milliseconds, and how many runs an open one shows. */
const every = 5000;
export const shownOfFold = 30;

/** The runs of triggers, folded. */
export interface Folds {
  /** Whether the list leaves the runs of triggers to the folds. */
  readonly on: boolean;
  /** Whether there are too many triggers to fold. */
  readonly tooMany: boolean;
  readonly loading: boolean;
  readonly folds: readonly RunFold[];
  /** The runs of the open ones, by the key of the fold. */
  readonly opened: ReadonlyMap<string, readonly Run[]>;
  readonly toggle: (key: string) => void;
}

const nothing: readonly RunFold[] = [];

export function useFolds(place: Place, search: RunsSearch): Folds {
  const wanted = isFolding(search);
  const key = JSON.stringify([place, search]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const answer = useQuery(
    InsightService.method.foldRuns,
    { projectId: { organization: "flyte", name: place.project, domain: place.domain }, query: search.query ?? "" },
    { enabled: wanted, refetchInterval: (query) => (query.state.error ? false : every), placeholderData: keepPreviousData, retry: false },
  );
  const tooMany = answer.data?.incomplete ?? false;
  const on = wanted && !tooMany && !answer.isError;
  const folds = on ? (answer.data?.folds ?? nothing) : nothing;
  const shown = folds.filter((fold) => open.has(keyOfFold(fold)));
  const opened = useQueries({
    queries: shown.map((fold) => ({
      queryKey: ["fold", key, keyOfFold(fold)],
      queryFn: ({ signal }: { signal: AbortSignal }) => loadRuns(place, searchOfTrigger(fold, search.query), { limit: shownOfFold, token: "", tracked: false }, signal),
      refetchInterval: every,
      retry: false,
    })),
    combine: (answers) => new Map(shown.map((fold, at) => [keyOfFold(fold), answers[at]?.data?.runs ?? []])),
  });
  return {
    on,
    tooMany: wanted && tooMany,
    loading: wanted && answer.isPending,
    folds,
    opened,
    toggle: (fold) =>
      setOpen((before) => {
        const next = new Set(before);
        if (!next.delete(fold)) next.add(fold);
        return next;
      }),
  };
}
