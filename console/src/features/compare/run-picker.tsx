import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { Place } from "@/app/place";
import { Field, Input } from "@/design/field";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { Tag } from "@/design/facts";
import { When } from "@/design/time";
import { joined, orderOf } from "@/features/runs/merge";
import { listRequest, runsRequest } from "@/features/runs/request";
import { isTracked, keyOf, nameOf } from "@/entities/run/listed";
import { serviceOf } from "@/entities/run/kind";
import { titleOf } from "@/entities/action/title";
import { t } from "@/texts/texts";
import css from "./compare.module.css";

export interface RunPickerProps {
  readonly place: Place;
  readonly title: string;
  /** The task whose runs are offered by default. */
  readonly task: string | undefined;
  /** The key of a run to leave out. */
  readonly without: string | undefined;
  /** Gets the key of a run. */
  readonly onPick: (run: string) => void;
}

/** Picks a run: one of the latest, or by name. */
export function RunPicker({ place, title, task, without, onPick }: RunPickerProps) {
  const [q, setQ] = useState("");
  const [all, setAll] = useState(false);
  const wanted = useDeferredValue(q.trim());
  const filters = [
    ...(wanted === "" ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [wanted] }]),
    ...(task === undefined || all ? [] : [{ function: Filter_Function.EQUAL, field: "task_name", values: [task] }]),
  ];
  const request = runsRequest(place, listRequest(30, "newest", filters));
  const own = useQuery(serviceOf({}).method.listRuns, request, { placeholderData: keepPreviousData });
  const tracked = useQuery(serviceOf({ tracked: true }).method.listRuns, request, { placeholderData: keepPreviousData });
  // A server without tracked runs has runs of its own all the same.
  const loaded = ({ data }: typeof own) => ({ runs: data?.runs ?? [], more: Boolean(data?.token) });
  const runs = joined(loaded(own), loaded(tracked), orderOf.newest).filter((run) => keyOf(run) !== without);
  return (
    <section className={css["picker"]} aria-label={title} data-testid="run-picker">
      <Field label={title}>
        {(control) => (
          <Input {...control} type="search" autoComplete="off" placeholder={t("Find by name")} value={q} onChange={(event) => setQ(event.target.value)} />
        )}
      </Field>
      {task !== undefined && (
        <label className={css["check"]}>
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
          {t("Include runs of other tasks than {task}", { task })}
        </label>
      )}
      {own.error && <ProblemNotice error={own.error} retry={() => void own.refetch()} />}
      {(own.isLoading || tracked.isLoading) && <Loading what={t("runs")} />}
      {own.isSuccess && !tracked.isLoading && runs.length === 0 && <Empty title={t("No runs found")} />}
      <ul className={css["runs"]} aria-label={t("Runs")}>
        {runs.map((run) => (
          <li key={keyOf(run)}>
            <button type="button" onClick={() => onPick(keyOf(run))}>
              <span>
                {run.action && <strong>{titleOf(run.action)}</strong>} <code>{nameOf(run)}</code> {isTracked(run) && <Tag>{t("Tracked")}</Tag>}
              </span>
              <span className={css["line"]}>
                <Phase phase={run.action?.status?.phase ?? ActionPhase.UNSPECIFIED} /> <When at={dateOf(run.action?.status?.startTime)} relative />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
