import { useState } from "react";
import type { AppTraffic } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { usePreferences } from "@/app/preferences";
import { Chart, Charts, Sign } from "@/design/chart";
import { roundUp } from "@/design/chart-lines";
import { count, duration, moment } from "@/design/format";
import { Table } from "@/design/table";
import { t, tn } from "@/texts/texts";
import { loadsOf, number, type Load } from "./load";
import page from "@/design/page.module.css";
import css from "./apps.module.css";

/** The load of the last half hour as charts, and as a table for those who cannot see them. */
export function Traffic({ traffic }: { readonly traffic: readonly AppTraffic[] }) {
  const loads = loadsOf(traffic);
  const requests = loads.reduce((sum, one) => sum + one.requests, 0);
  const errors = loads.reduce((sum, one) => sum + one.errors, 0);
  return (
    <section className={page["section"]} aria-label={t("Traffic")} data-testid="app-traffic">
      <h2>{t("Traffic")}</h2>
      <p className={page["muted"]}>
        {requests === 0 ? t("No requests in the last half hour.") : tn(requests, "{n} request in the last half hour, {errors} failed.", "{n} requests in the last half hour, {errors} failed.", { errors: count(errors) })}
      </p>
      {requests > 0 && <Drawn loads={loads} errors={errors} />}
    </section>
  );
}

function Drawn({ loads, errors }: { readonly loads: readonly Load[]; readonly errors: number }) {
  const { zone } = usePreferences();
  const [pointed, setPointed] = useState<number>();
  const all = { count: loads.length, pointed, onPoint: setPointed };
  const most = (value: (load: Load) => number | undefined) => Math.max(0, ...loads.map((load) => value(load) ?? 0));
  const [busiest, slowest, widest] = [most((one) => one.answered + one.failed), most((one) => one.p99), most((one) => Math.max(one.concurrency, one.replicas))];
  const shown = pointed === undefined ? undefined : loads[pointed];
  return (
    <>
      <Charts>
        <Chart
          {...all}
          title={t("Requests per second")}
          label={t("Requests per second: at most {busiest}, {errors} failed", { busiest: number(busiest), errors: count(errors) })}
          max={roundUp(busiest)}
          write={number}
          stacks={[
            { values: loads.map(({ answered }) => answered), look: "succeeded" },
            { values: loads.map(({ failed }) => failed), look: "failed" },
          ]}
          legend={
            <>
              <Sign look="succeeded" /> {t("answered")} <Sign look="failed" /> {t("failed")}
            </>
          }
        />
        <Chart
          {...all}
          title={t("Time to first byte")}
          label={t("Time to first byte: p99 at most {slowest}", { slowest: duration(slowest) })}
          max={roundUp(slowest)}
          write={duration}
          lines={[
            { values: loads.map(({ p99 }) => p99), look: "tail" },
            { values: loads.map(({ p50 }) => p50), look: "median" },
          ]}
          legend={
            <>
              <Sign look="median" /> {t("median")} <Sign look="tail" /> {t("p99")}
            </>
          }
        />
        <Chart
          {...all}
          title={t("Concurrency")}
          label={t("Concurrency: at most {requests} requests and {replicas} replicas at a time", { requests: number(most((one) => one.concurrency)), replicas: most((one) => one.replicas) })}
          max={roundUp(widest)}
          write={number}
          lines={[
            { values: loads.map(({ concurrency }) => concurrency), look: "median" },
            { values: loads.map(({ replicas }) => replicas), look: "tail" },
          ]}
          legend={
            <>
              <Sign look="median" /> {t("requests")} <Sign look="tail" /> {t("replicas")}
            </>
          }
        />
      </Charts>
      <p className={css["about"]}>
        {shown ? `${moment(new Date(shown.from), zone)}: ${wordsOf(shown)}` : t("From {start} to now", { start: moment(new Date(loads[0]?.from ?? 0), zone) })}
      </p>
      <details>
        <summary>{t("Show as table")}</summary>
        <LoadTable loads={loads} zone={zone} />
      </details>
    </>
  );
}

function wordsOf({ requests, errors, answered, failed, p50, p99, concurrency, replicas }: Load): string {
  return [
    requests === 0 ? t("no requests") : `${tn(requests, "{n} request", "{n} requests")} (${number(answered + failed)}/s)`,
    errors > 0 && t("{errors} failed", { errors: count(errors) }),
    p50 !== undefined && t("median {p50}", { p50: duration(p50) }),
    p99 !== undefined && `p99 ${duration(p99)}`,
    concurrency > 0 && t("{concurrency} at a time", { concurrency: number(concurrency) }),
    tn(replicas, "{n} replica", "{n} replicas"),
  ]
    .filter(Boolean)
    .join(", ");
}

/** The same figures as text. Minutes without requests are left out. */
function LoadTable({ loads, zone }: { readonly loads: readonly Load[]; readonly zone: string | undefined }) {
  return (
    <Table
      label={t("Traffic")}
      scroll="group"
      copy
      rows={loads.filter(({ requests }) => requests > 0)}
      keyOf={({ from }) => String(from)}
      columns={[
        { label: t("From"), cell: ({ from }) => moment(new Date(from), zone), sortBy: ({ from }) => from },
        { label: t("Requests"), number: true, cell: ({ requests }) => count(requests), sortBy: ({ requests }) => requests, descending: true },
        { label: t("Failed"), number: true, cell: ({ errors }) => count(errors), sortBy: ({ errors }) => errors, descending: true },
        { label: t("Median"), number: true, cell: ({ p50 }) => (p50 === undefined ? "–" : duration(p50)), sortBy: ({ p50 }) => p50, descending: true },
        { label: t("p99"), number: true, cell: ({ p99 }) => (p99 === undefined ? "–" : duration(p99)), sortBy: ({ p99 }) => p99, descending: true },
        { label: t("Concurrency"), number: true, cell: ({ concurrency }) => number(concurrency), sortBy: ({ concurrency }) => concurrency, descending: true },
        { label: t("Replicas"), number: true, cell: ({ replicas }) => count(replicas), sortBy: ({ replicas }) => replicas, descending: true },
      ]}
    />
  );
}
