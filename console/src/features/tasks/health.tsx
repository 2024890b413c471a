import { durationMs } from "@bufbuild/protobuf/wkt";
import { Link } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { TaskHealthService, type TaskHealth } from "@gen/flytebinary/insight/v1/health_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { DataTable } from "@/design/data-table";
import { count, dateOf, duration } from "@/design/format";
import { Empty } from "@/design/notice";
import { Sparkline } from "@/design/sparkline";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { StarButton } from "@/entities/star/star-button";
import { useStars } from "@/entities/star/use-stars";
import { change, costOf, hours, hoursOf, percent } from "@/entities/use/use";
import { t } from "@/texts/texts";
import { serverOrders } from "./orders";
import type { TasksSearch } from "./search";
import css from "./health.module.css";

interface HealthProps {
  readonly place: Place;
  readonly search: TasksSearch;
  readonly onChange: (next: Readonly<Record<string, unknown>>) => void;
}

/** How the tasks of a place did in the last seven days, and how that changed; what got slower first. */
export function HealthOfTasks({ place, search, onChange }: HealthProps) {
  const { project, domain } = place;
  const text = useDeferredValue(search.q ?? "");
  const by = search.sort ?? "slower";
  const ascending = search.ascending ?? false;
  const { answer, rows } = usePages(
    ["task-health", project, domain, text, by, ascending],
    (token, signal) =>
      client(TaskHealthService).listTaskHealth(
        { projectId: { name: project, domain }, text, token, limit: 100, ascending, ...(serverOrders[by] !== undefined && { order: serverOrders[by] }) },
        { signal },
      ),
    ({ tasks }) => tasks,
    { keep: true, refresh: 10_000 },
  );
  const stars = useStars();
  const currency = answer.data?.pages[0]?.currency ?? "";
  return (
    <>
      <p className={css["about"]}>{t("The last seven days (UTC), compared with the seven days before.")}</p>
      <DataTable
        keys
        what={t("tasks")}
        label={t("Health of tasks")}
        scroll="region"
        empty={<Empty title={text === "" ? t("No task has run yet") : t("No tasks that ran match “{text}”", { text })} />}
        answer={answer}
        rows={rows}
        columns={columns(place, currency, stars)}
        keyOf={({ name }) => name}
        attributesOf={({ name }) => ({ "data-testid": "health-row", "data-name": name })}
        sort={{ by, descending: !ascending }}
        onSort={(sort) => onChange({ sort: sort.by, ascending: sort.descending ? undefined : true })}
      />
    </>
  );
}

/** A duration with its change below it. Longer is worse. */
function Duration({ ms, by }: { readonly ms: number | undefined; readonly by: number | undefined }) {
  if (ms === undefined) return <span className={css["none"]}>–</span>;
  return (
    <>
      {duration(ms)}
      {by !== undefined && <Changed by={by} />}
    </>
  );
}

function Changed({ by }: { readonly by: number }) {
  return <span className={by >= 0.1 ? css["worse"] : by <= -0.1 ? css["better"] : css["same"]}> {change(by)}</span>;
}

const share = (value: number | undefined) => (value === undefined ? <span className={css["none"]}>–</span> : percent(value));
const msOf = (value: TaskHealth["p50"]): number | undefined => value && durationMs(value);

const columns = (place: Place, currency: string, stars: ReturnType<typeof useStars>): readonly Column<TaskHealth>[] => [
  {
    label: t("Task"),
    order: "name",
    wrap: true,
    cell: ({ name, lastAt }) => (
      <>
        <Link to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task: name }}>
          {name}
        </Link>
        <StarButton of={{ ...place, kind: "task", name }} stars={stars} />
        <Note>
          {t("last ended {when}", { when: <When at={dateOf(lastAt)} relative /> })}
        </Note>
      </>
    ),
  },
  {
    label: t("Last 30"),
    order: "last",
    descending: true,
    hint: t("The last actions, the latest on the right: color by outcome, height by run time. Sorts by the last end."),
    cell: ({ outcomes }) => <Sparkline outcomes={outcomes.map(({ phase, cached, ran }) => ({ phase, cached, ran: ran && durationMs(ran) }))} />,
  },
  { label: t("Ended"), number: true, hint: t("Actions that ended"), cell: ({ succeeded, failed, aborted }) => count(succeeded + failed + aborted) },
  { label: t("Median"), order: "p50", descending: true, number: true, cell: ({ p50 }) => <Duration ms={msOf(p50)} by={undefined} /> },
  {
    label: t("Got slower"),
    order: "slower",
    descending: true,
    number: true,
    hint: t("By how much the median run time is longer than in the week before"),
    cell: ({ changeP50 }) => (changeP50 === undefined ? <span className={css["none"]}>–</span> : <Changed by={changeP50} />),
  },
  { label: "p90", order: "p90", descending: true, number: true, cell: ({ p90 }) => <Duration ms={msOf(p90)} by={undefined} /> },
  {
    label: "p90 slower",
    order: "slower-p90",
    descending: true,
    number: true,
    hint: t("By how much the 90th percentile is longer than in the week before"),
    cell: ({ changeP90 }) => (changeP90 === undefined ? <span className={css["none"]}>–</span> : <Changed by={changeP90} />),
  },
  {
    label: t("Failed"),
    order: "failures",
    descending: true,
    number: true,
    cell: ({ failureRate, failed }) => (
      <span title={t("{failed} failed", { failed: count(failed) })} className={failureRate !== undefined && failureRate >= 0.1 ? css["worse"] : undefined}>
        {share(failureRate)}
      </span>
    ),
  },
  { label: t("Cache hits"), order: "hits", descending: true, number: true, cell: ({ hitRate }) => share(hitRate) },
  {
    label: currency === "" ? "Core-h" : t("Cost"),
    order: "cost",
    descending: true,
    number: true,
    cell: ({ use }) => use && <span title={hoursOf(use)}>{currency === "" ? hours(use.coreHours) : costOf(use, currency)}</span>,
  },
];
