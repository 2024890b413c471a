import { useState } from "react";
import type { AppTraffic } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { usePreferences } from "@/app/preferences";
import { Chart, Charts, Sign } from "@/design/chart";
import { roundUp } from "@/design/chart-lines";
import { count, duration, moment, plural } from "@/design/format";
import { loadsOf, number, type Load } from "./load";
import page from "@/design/page.module.css";
import css from "./apps.module.css";

/** The load of the last half hour as charts, and as a table for those who cannot see them. */
export function Traffic({ traffic }: { readonly traffic: readonly AppTraffic[] }) {
  const loads = loadsOf(traffic);
  const requests = loads.reduce((sum, one) => sum + one.requests, 0);
  const errors = loads.reduce((sum, one) => sum + one.errors, 0);
  return (
    <section className={page["section"]} aria-label="Traffic" data-testid="app-traffic">
      <h2>Traffic</h2>
      <p className={page["muted"]}>
        {requests === 0 ? "No requests in the last half hour." : `${plural(requests, "request")} in the last half hour, ${count(errors)} failed.`}
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
          title="Requests per second"
          label={`Requests per second: at most ${number(busiest)}, ${count(errors)} failed`}
          max={roundUp(busiest)}
          write={number}
          stacks={[
            { values: loads.map(({ answered }) => answered), look: "succeeded" },
            { values: loads.map(({ failed }) => failed), look: "failed" },
          ]}
          legend={
            <>
              <Sign look="succeeded" /> answered <Sign look="failed" /> failed
            </>
          }
        />
        <Chart
          {...all}
          title="Time to first byte"
          label={`Time to first byte: p99 at most ${duration(slowest)}`}
          max={roundUp(slowest)}
          write={duration}
          lines={[
            { values: loads.map(({ p99 }) => p99), look: "tail" },
            { values: loads.map(({ p50 }) => p50), look: "median" },
          ]}
          legend={
            <>
              <Sign look="median" /> median <Sign look="tail" /> p99
            </>
          }
        />
        <Chart
          {...all}
          title="Concurrency"
          label={`Concurrency: at most ${number(most((one) => one.concurrency))} requests and ${most((one) => one.replicas)} replicas at a time`}
          max={roundUp(widest)}
          write={number}
          lines={[
            { values: loads.map(({ concurrency }) => concurrency), look: "median" },
            { values: loads.map(({ replicas }) => replicas), look: "tail" },
          ]}
          legend={
            <>
              <Sign look="median" /> requests <Sign look="tail" /> replicas
            </>
          }
        />
      </Charts>
      <p className={css["about"]}>
        {shown ? `${moment(new Date(shown.from), zone)}: ${wordsOf(shown)}` : `From ${moment(new Date(loads[0]?.from ?? 0), zone)} to now`}
      </p>
      <details>
        <summary>Show as table</summary>
        <Table loads={loads} zone={zone} />
      </details>
    </>
  );
}

function wordsOf({ requests, errors, answered, failed, p50, p99, concurrency, replicas }: Load): string {
  return [
    requests === 0 ? "no requests" : `${plural(requests, "request")} (${number(answered + failed)}/s)`,
    errors > 0 && `${count(errors)} failed`,
    p50 !== undefined && `median ${duration(p50)}`,
    p99 !== undefined && `p99 ${duration(p99)}`,
    concurrency > 0 && `${number(concurrency)} at a time`,
    plural(replicas, "replica"),
  ]
    .filter(Boolean)
    .join(", ");
}

function Table({ loads, zone }: { readonly loads: readonly Load[]; readonly zone: string | undefined }) {
  return (
    <table className={css["table"]}>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">Load</th>
        </tr>
      </thead>
      <tbody>
        {loads
          .filter(({ requests }) => requests > 0)
          .map((load) => (
            <tr key={load.from}>
              <th scope="row">{moment(new Date(load.from), zone)}</th>
              <td>{wordsOf(load)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}
