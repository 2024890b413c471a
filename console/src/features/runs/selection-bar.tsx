import { useNavigate, useRouter } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { chunk } from "@/api/chunk";
import type { Place } from "@/app/place";
import { Button } from "@/design/button";
import { t, tn } from "@/texts/texts";
import type { BulkOrder } from "./bulk-dialog";
import { bulkKinds, type BulkKind } from "./bulk-kinds";
import { useDenied } from "@/entities/access/use-denied";
import { mostPlotted, mostRuns, searchOf, type CompareSearch } from "@/entities/run/comparison";
import { nameOf } from "@/entities/run/listed";
import type { RunsSearch } from "./search";
import type { Selection } from "./use-selection";
import css from "./bulk.module.css";

const BulkDialog = lazy(() => chunk(() => import("./bulk-dialog")).then((m) => ({ default: m.BulkDialog })));

export interface SelectionBarProps {
  readonly place: Place;
  readonly search: RunsSearch;
  readonly runs: readonly Run[];
  readonly more: boolean;
  readonly selection: Selection;
}

/** The bulk actions for the selected runs. */
export function SelectionBar({ place, search, runs, more, selection }: SelectionBarProps) {
  const [order, setOrder] = useState<BulkOrder>();
  const { names, all, selectAll, clear } = selection;
  // A run that no longer matches has left the list and is no longer selected.
  const chosen = runs.filter((run) => names.has(nameOf(run)));
  const compare = useCompare(place);
  const noAbort = useDenied(RunService.method.abortRun, place);
  const noStart = useDenied(RunService.method.createRun, place);
  const start = (kind: BulkKind) => setOrder({ kind, place, runs: all ? search : chosen });
  return (
    <>
      {(chosen.length > 0 || all) && (
        <div role="region" aria-label={t("Selected runs")} className={css["selection"]} data-testid="selection-bar">
          <strong role="status">{all ? t("All matching runs selected") : tn(chosen.length, "{n} run selected", "{n} runs selected")}</strong>
          {bulkKinds.map((kind) => (
            <Button key={kind.key} small kind={kind.danger ? "danger" : "plain"} denied={kind.key === "abort" ? noAbort : noStart} onClick={() => start(kind)}>
              {kind.verb} …
            </Button>
          ))}
          {!all && chosen.length >= 2 && chosen.length <= mostRuns && compare && (
            <Button small onClick={() => compare(searchOf(chosen.map(nameOf).reverse()))}>
              {t("Compare")}
            </Button>
          )}
          {compare && (all ? search.query !== undefined : chosen.length > 2 && chosen.length <= mostPlotted) && (
            <Button small onClick={() => compare(all ? { query: search.query ?? "" } : { plot: chosen.map(nameOf).join(",") })}>
              {t("Plot")}
            </Button>
          )}
          {!all && more && (
            <Button small kind="quiet" onClick={selectAll}>
              {t("Select all matching runs")}
            </Button>
          )}
          <Button small kind="quiet" onClick={clear}>
            {t("Clear selection")}
          </Button>
        </div>
      )}
      {order && (
        <Suspense>
          <BulkDialog
            order={order}
            onClose={() => {
              setOrder(undefined);
              clear();
            }}
          />
        </Suspense>
      )}
    </>
  );
}

const comparePage = "/domain/$domain/project/$project/compare";

/** Opens a comparison or a plot of runs; undefined if there is no such page. */
function useCompare({ project, domain }: Place): ((search: CompareSearch) => void) | undefined {
  const router = useRouter();
  const navigate = useNavigate();
  if (!(comparePage in router.routesByPath)) return undefined;
  return (search) => void navigate({ to: comparePage, params: { project, domain }, search });
}
