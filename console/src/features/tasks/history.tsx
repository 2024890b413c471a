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
import { count, duration, moment, plural } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { useNow } from "@/design/time";
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
const percent = (share: number): string => `${share > 0 && share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`;

/** The outcomes and durations of a task over time, including its actions within other runs. */
export function History({ place, task, version, range, onRange, deployed }: HistoryProps) {
  const minute = Math.floor(useNow(60_000) / 60_000) * 60_000; // the same request for a minute
  const answer = useQuery(
    InsightService.method.getTaskHistory,
    { ...place, name: task, version: version ?? "", since: timestampFromMs(minute - ranges[range] * 3_600_000), buckets: 48 },
    { placeholderData: keepPreviousData },
  );
  const buckets = useMemo(() => bucketsOf(answer.data?.buckets ?? [], minute), [answer.data, minute]);
  if (answer.error?.code === Code.Unimplemented) return <Notice title="This server has no task history">The runs of the task are listed below.</Notice>;
  return (
    <section className={css["history"]} aria-label="History" data-testid="task-history" aria-busy={answer.isPlaceholderData}>
      <div className={css["head"]}>
        <h2>History</h2>
        <Select aria-label="Time range" className={css["range"]} value={range} onChange={(event) => onRange(event.target.value as Range)}>
          {(Object.keys(ranges) as Range[]).map((one) => (
            <option key={one} value={one}>
              {names[one]}
            </option>
          ))}
        </Select>
        {answer.data && <Summary buckets={buckets} />}
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="history" />}
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
        ? "No actions ended in this period."
        : [
            plural(ended(totals), "action ended", "actions ended"),
            rate !== undefined && `${percent(rate)} failed`,
            totals.aborted > 0 && `${count(totals.aborted)} aborted`,
            totals.cached > 0 && `${count(totals.cached)} cached`,
          ]
            .filter(Boolean)
            .join(", ")}
    </p>
  );
}

type Mark = readonly [at: number, words: string];

/** The deployments between two moments, as shares of the time between them. */
export const marksOf = (deployed: readonly (readonly [version: string, at: number])[], from: number, to: number): Mark[] =>
  deployed.filter(([, at]) => at >= from && at <= to).map(([version, at]) => [(at - from) / (to - from), `version ${version}`]);

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
          title="Duration"
          label={`Duration: p90 at most ${duration(longest)}`}
          max={roundUp(longest)}
          write={duration}
          lines={[
            { values: buckets.map(({ p90 }) => p90), look: "tail" },
            { values: buckets.map(({ p50 }) => p50), look: "median" },
          ]}
          legend={
            <>
              <Sign look="median" /> median <Sign look="tail" /> p90
            </>
          }
        />
        <Chart
          {...all}
          title="Failure rate"
          label={`Failure rate: at most ${percent(worst)}`}
          max={1}
          write={percent}
          lines={[{ values: buckets.map(failureRate), look: "failed" }]}
          legend={
            <>
              <Sign look="failed" /> failed / ended
            </>
          }
        />
        <Chart
          {...all}
          title="Ended"
          label={`${totals.succeeded} succeeded, ${totals.failed} failed, ${totals.aborted} aborted`}
          max={roundUp(Math.max(...buckets.map(ended)))}
          write={count}
          stacks={[
            { values: buckets.map(({ succeeded }) => succeeded), look: "succeeded" },
            { values: buckets.map(({ failed }) => failed), look: "failed" },
            { values: buckets.map(({ aborted }) => aborted), look: "aborted" },
          ]}
          legend={
            <>
              <Sign look="succeeded" /> succeeded <Sign look="failed" /> failed <Sign look="aborted" /> aborted
            </>
          }
        />
      </Charts>
      <Axis buckets={buckets} shown={shown} />
      {marks.length > 0 && (
        <p className={css["about"]}>
          Dashed lines are deployments: {marks.map(([, words]) => words.slice("version ".length)).slice(0, 5).map((name) => (name.length > 12 ? `${name.slice(0, 12)}…` : name)).join(", ")}
          {marks.length > 5 && ` and ${marks.length - 5} more`}
        </p>
      )}
      <details>
        <summary>Show as table</summary>
        <Table buckets={buckets} />
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
        ? `${moment(new Date(shown.from), zone)} to ${moment(new Date(shown.to), zone)}: ${wordsOf(shown)}`
        : `From ${moment(from, zone)} to now`}
    </p>
  );
}

/** An interval as text, for the axis and for the table, which screen readers read. */
function wordsOf(bucket: Bucket): string {
  if (ended(bucket) === 0) return "no actions ended";
  const rate = failureRate(bucket);
  return [
    `${bucket.succeeded} succeeded`,
    `${bucket.failed} failed${rate !== undefined && bucket.failed > 0 ? ` (${percent(rate)})` : ""}`,
    bucket.aborted > 0 && `${bucket.aborted} aborted`,
    bucket.cached > 0 && `${bucket.cached} cached`,
    bucket.p50 !== undefined && `median ${duration(bucket.p50)}`,
    bucket.p90 !== undefined && `p90 ${duration(bucket.p90)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** The same figures as text. Intervals in which nothing ended are left out. */
function Table({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const { zone } = usePreferences();
  return (
    <table className={css["table"]}>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">Ended actions</th>
        </tr>
      </thead>
      <tbody>
        {buckets
          .filter((one) => ended(one) > 0)
          .map((one) => (
            <tr key={one.from}>
              <th scope="row">{moment(new Date(one.from), zone)}</th>
              <td>{wordsOf(one)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}
