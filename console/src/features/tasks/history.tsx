import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { usePreferences } from "@/app/preferences";
import type { Place } from "@/app/place";
import { Chart, Charts, Sign } from "@/design/chart";
import { roundUp } from "@/design/chart-lines";
import { Select } from "@/design/field";
import { count, duration, moment } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { Table, type Column } from "@/design/table";
import { useNow } from "@/design/time";
import { fixed, t, tn } from "@/texts/texts";
import { bucketsOf, ended, failureRate, totalsOf, type Bucket } from "./buckets";
import { ranges, type Range } from "./search";
import css from "./history.module.css";

export interface HistoryProps {
  readonly place: Place;
  readonly task: string;
  readonly version: string | undefined;
  readonly range: Range;
  readonly onRange: (range: Range) => void;
  /** When versions were deployed: marked in the charts. */
  readonly deployed: readonly (readonly [version: string, at: number])[];
}

const names: Record<Range, string> = { "1h": "1 hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days" };
/** One decimal below 10 %: there the difference between 0.4 and 1.4 matters. */
const percent = (share: number): string => `${share > 0 && share < 0.1 ? fixed(share * 100, 1) : Math.round(share * 100)} %`;

/** The outcomes and durations of a task over time, including its actions within other runs. */
export function History({ place, task, version, range, onRange, deployed }: HistoryProps) {
  const minute = Math.floor(useNow(60_000) / 60_000) * 60_000; // the same request for a minute
  const answer = useQuery(
    InsightService.method.getTaskHistory,
    { ...place, name: task, version: version ?? "", since: timestampFromMs(minute - ranges[range] * 3_600_000), buckets: 48 },
    { placeholderData: keepPreviousData },
  );
  const buckets = useMemo(() => bucketsOf(answer.data?.buckets ?? [], minute), [answer.data, minute]);
  if (answer.error?.code === Code.Unimplemented) return <Notice title={t("This server has no task history")}>{t("The runs of the task are listed below.")}</Notice>;
  return (
    <section className={css["history"]} aria-label={t("History")} data-testid="task-history" aria-busy={answer.isPlaceholderData}>
      <div className={css["head"]}>
        <h2>{t("History")}</h2>
        <Select aria-label={t("Time range")} className={css["range"]} value={range} onChange={(event) => onRange(event.target.value as Range)}>
          {(Object.keys(ranges) as Range[]).map((one) => (
            <option key={one} value={one}>
              {names[one]}
            </option>
          ))}
        </Select>
        {answer.data && <Summary buckets={buckets} />}
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && (
        <div className={css["pending"]}>
          <Loading what={t("history")} />
        </div>
      )}
      {answer.data && buckets.some((one) => ended(one) > 0) && (
        <Drawn buckets={buckets} marks={marksOf(deployed, minute - ranges[range] * 3_600_000, minute)} />
      )}
    </section>
  );
}

/** The whole period in one sentence. */
function Summary({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const totals = totalsOf(buckets);
  const rate = failureRate(totals);
  return (
    <p className={css["muted"]}>
      {ended(totals) === 0
        ? t("No actions ended in this period.")
        : [
            tn(ended(totals), "{n} action ended", "{n} actions ended"),
            rate !== undefined && t("{rate} failed", { rate: percent(rate) }),
            totals.aborted > 0 && t("{aborted} aborted", { aborted: count(totals.aborted) }),
            totals.cached > 0 && t("{cached} cached", { cached: count(totals.cached) }),
          ]
            .filter(Boolean)
            .join(", ")}
    </p>
  );
}

type Mark = readonly [at: number, words: string];

/** The deployments between two moments, as shares of the time between them. */
export const marksOf = (deployed: readonly (readonly [version: string, at: number])[], from: number, to: number): Mark[] =>
  deployed.filter(([, at]) => at >= from && at <= to).map(([version, at]) => [(at - from) / (to - from), t("version {version}", { version })]);

/** Three charts over the same intervals: pointing at one shows the interval in all. */
function Drawn({ buckets, marks }: { readonly buckets: readonly Bucket[]; readonly marks: readonly Mark[] }) {
  const [pointed, setPointed] = useState<number>();
  const all = { count: buckets.length, marks, pointed, onPoint: setPointed };
  const totals = totalsOf(buckets);
  const longest = Math.max(0, ...buckets.map(({ p90, p50 }) => p90 ?? p50 ?? 0));
  const worst = Math.max(0, ...buckets.map((one) => failureRate(one) ?? 0));
  const shown = pointed === undefined ? undefined : buckets[pointed];
  return (
    <>
      <Charts>
        <Chart
          {...all}
          title={t("Duration")}
          label={t("Duration: p90 at most {longest}", { longest: duration(longest) })}
          max={roundUp(longest)}
          write={duration}
          lines={[
            { values: buckets.map(({ p90 }) => p90), look: "tail" },
            { values: buckets.map(({ p50 }) => p50), look: "median" },
          ]}
          legend={
            <>
              <Sign look="median" /> {t("median")} <Sign look="tail" /> {t("p90")}
            </>
          }
        />
        <Chart
          {...all}
          title={t("Failure rate")}
          label={t("Failure rate: at most {worst}", { worst: percent(worst) })}
          max={1}
          write={percent}
          lines={[{ values: buckets.map(failureRate), look: "failed" }]}
          legend={
            <>
              <Sign look="failed" /> {t("failed / ended")}
            </>
          }
        />
        <Chart
          {...all}
          title={t("Ended")}
          label={t("{succeeded} succeeded, {failed} failed, {aborted} aborted", { succeeded: totals.succeeded, failed: totals.failed, aborted: totals.aborted })}
          max={roundUp(Math.max(...buckets.map(ended)))}
          write={count}
          stacks={[
            { values: buckets.map(({ succeeded }) => succeeded), look: "succeeded" },
            { values: buckets.map(({ failed }) => failed), look: "failed" },
            { values: buckets.map(({ aborted }) => aborted), look: "aborted" },
          ]}
          legend={
            <>
              <Sign look="succeeded" /> {t("succeeded")} <Sign look="failed" /> {t("failed")} <Sign look="aborted" /> {t("aborted")}
            </>
          }
        />
      </Charts>
      <Axis buckets={buckets} shown={shown} />
      {marks.length > 0 && (
        <p className={css["about"]}>
          {t("Dashed lines are deployments: {marks}", { marks: marks.map(([, words]) => words.slice("version ".length)).slice(0, 5).map((name) => (name.length > 12 ? `${name.slice(0, 12)}…` : name)).join(", ") })}
          {marks.length > 5 && ` ${t("and {marks} more", { marks: marks.length - 5 })}`}
        </p>
      )}
      <details>
        <summary>{t("Show as table")}</summary>
        <BucketTable buckets={buckets} />
      </details>
    </>
  );
}

/** The time range of the charts, or the values of the hovered interval. */
function Axis({ buckets, shown }: { readonly buckets: readonly Bucket[]; readonly shown: Bucket | undefined }) {
  const { zone } = usePreferences();
  const from = new Date(buckets[0]?.from ?? 0);
  return (
    <p className={css["about"]}>
      {shown
        ? t("{from} to {to}: {counts}", { from: moment(new Date(shown.from), zone), to: moment(new Date(shown.to), zone), counts: wordsOf(shown) })
        : t("From {from} to now", { from: moment(from, zone) })}
    </p>
  );
}

/** An interval as text. */
function wordsOf(bucket: Bucket): string {
  if (ended(bucket) === 0) return t("no actions ended");
  const rate = failureRate(bucket);
  return [
    t("{succeeded} succeeded", { succeeded: bucket.succeeded }),
    rate !== undefined && bucket.failed > 0 ? t("{failed} failed ({rate})", { failed: bucket.failed, rate: percent(rate) }) : t("{failed} failed", { failed: bucket.failed }),
    bucket.aborted > 0 && t("{aborted} aborted", { aborted: bucket.aborted }),
    bucket.cached > 0 && t("{cached} cached", { cached: bucket.cached }),
    bucket.p50 !== undefined && t("median {p50}", { p50: duration(bucket.p50) }),
    bucket.p90 !== undefined && `p90 ${duration(bucket.p90)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** The same figures as text. Intervals in which nothing ended are left out. */
function BucketTable({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const { zone } = usePreferences();
  const figure = (label: string, of: (bucket: Bucket) => number | undefined, write: (value: number) => string = count): Column<Bucket> => ({
    label,
    number: true,
    cell: (bucket) => {
      const value = of(bucket);
      return value === undefined ? "–" : write(value);
    },
    sortBy: of,
    descending: true,
  });
  return (
    <Table
      label={t("History")}
      scroll="group"
      copy
      rows={buckets.filter((one) => ended(one) > 0)}
      keyOf={({ from }) => String(from)}
      columns={[
        { label: t("From"), cell: ({ from }) => moment(new Date(from), zone), sortBy: ({ from }) => from },
        figure(t("Succeeded"), ({ succeeded }) => succeeded),
        figure(t("Failed"), ({ failed }) => failed),
        figure(t("Failure rate"), failureRate, percent),
        figure(t("Aborted"), ({ aborted }) => aborted),
        figure(t("Cached"), ({ cached }) => cached),
        figure(t("Median"), ({ p50 }) => p50, duration),
        figure(t("p90"), ({ p90 }) => p90, duration),
      ]}
    />
  );
}
