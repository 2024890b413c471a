import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ConnectorInsightService, type JobMetric } from "@gen/flytebinary/insight/v1/connectors_pb.js";
import type { ActionAttempt } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Chart, Charts, Sign } from "@/design/chart";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Notice, ProblemNotice } from "@/design/notice";
import { useNow, When } from "@/design/time";
import { actionId, type ActionName } from "@/entities/action/name";
import { t, tn } from "@/texts/texts";
import { linksOf } from "../summary/links";
import { appOf, curveOf, jobOf, write, type Told } from "./words";
import css from "./job.module.css";

/** The poll interval in milliseconds. */
const every = 5000;

/** The job of an attempt that a connector runs in another system: which connector, how it is, and its metrics. Nothing for other attempts. */
export function Job({ action, attempt, live }: { readonly action: ActionName; readonly attempt: ActionAttempt | undefined; readonly live: boolean }) {
  const told = jobOf(attempt?.clusterEvents);
  if (!attempt || !told) return null;
  return (
    <section className={css["section"]} aria-label={t("Job")} data-testid="job">
      <h3>{t("Job")}</h3>
      <State action={action} attempt={attempt} live={live} told={told} />
      {live && <Metrics action={action} attempt={attempt.attempt} />}
    </section>
  );
}

function State({ action, attempt, live, told }: { readonly action: ActionName; readonly attempt: ActionAttempt; readonly live: boolean; readonly told: Told }) {
  const { data } = useQuery(
    ConnectorInsightService.method.getJob,
    { actionId: actionId(action), attempt: attempt.attempt },
    { enabled: live, refetchInterval: every, retry: false },
  );
  return (
    <>
      <Facts
        facts={[
          [t("Connector"), <Connector key="connector" name={told.connector} />],
          [
            t("Job"),
            told.job && (
              <span className={css["id"]}>
                <code>{told.job}</code>
                <CopyButton text={told.job} label={t("Copy job")} />
              </span>
            ),
          ],
          [t("Links"), linksOf(attempt)],
          [
            t("Last message"),
            told.said && (
              <>
                {told.said.message} <span className={css["muted"]}>(<When at={dateOf(told.said.occurredAt)} relative />)</span>
              </>
            ),
          ],
          [t("Requested"), live && data?.requestedAt && <When at={dateOf(data.requestedAt)} />],
          [t("Next look"), live && data?.nextLookAt && !data.deleting && <Due key="due" at={dateOf(data.nextLookAt)} />],
        ]}
      />
      {live && data?.deleting && <Notice title={t("The connector is being asked to delete the job")} />}
      {live && data !== undefined && data.failedCalls > 0 && (
        <Notice tone="warning" title={tn(data.failedCalls, "The last {n} call of the connector failed", "The last {n} calls of the connector failed")}>
          <p className={css["text"]}>{data.problem}</p>
        </Notice>
      )}
    </>
  );
}

/** A moment that comes, in words: a look that is due is about to happen, or waits for its turn. */
function Due({ at }: { readonly at: Date | undefined }) {
  const now = useNow(1000);
  const left = (at?.getTime() ?? 0) - now;
  return <>{left < 1000 ? t("now") : t("in {seconds} s", { seconds: Math.ceil(left / 1000) })}</>;
}

function Connector({ name }: { readonly name: string }) {
  const app = appOf(name);
  if (!app) return <>{name}</>;
  return (
    <>
      {t("app {link}", { link: <Link to="/domain/$domain/project/$project/apps/$app" params={app}>
        {app.app}
      </Link> })}
    </>
  );
}

function Metrics({ action, attempt }: { readonly action: ActionName; readonly attempt: number }) {
  const { data, error, refetch } = useQuery(
    ConnectorInsightService.method.getJobMetrics,
    { actionId: actionId(action), attempt },
    { refetchInterval: ({ state }) => (state.data?.unsupported ? false : every), retry: false },
  );
  // That the connector does not answer is said above, by the calls that the server makes.
  if (error?.code === Code.Unavailable) return <p className={css["muted"]}>{t("The connector does not send metrics now.")}</p>;
  if (error && error.code !== Code.NotFound && error.code !== Code.Unimplemented) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (!data || data.unsupported || data.metrics.length === 0) return null;
  const texts = data.metrics.filter(({ text }) => text !== "");
  const curves = data.metrics.filter(({ samples }) => samples.length > 0);
  return (
    <section className={css["section"]} aria-label={t("Metrics")} data-testid="job-metrics">
      <h4>{t("Metrics")}</h4>
      {texts.length > 0 && (
        <Facts
          facts={texts.map(
            ({ name, text }) =>
              [
                name,
                <code key={name} className={css["text"]}>
                  {text}
                </code>,
              ] as const,
          )}
        />
      )}
      {curves.length > 0 && (
        <Charts>
          {curves.map((metric) => (
            <Curve key={metric.name} metric={metric} />
          ))}
        </Charts>
      )}
      {data.more && <p className={css["muted"]}>{t("The connector has more metrics than are shown.")}</p>}
    </section>
  );
}

function Curve({ metric }: { readonly metric: JobMetric }) {
  const [pointed, setPointed] = useState<number>();
  const { values, max } = curveOf(metric);
  const last = values[pointed ?? values.length - 1] ?? 0;
  return (
    <Chart
      title={metric.name}
      label={t("{name}: last value {value}", { name: metric.name, value: write(values.at(-1) ?? 0) })}
      count={values.length}
      max={max}
      write={write}
      lines={[{ values, look: "median" }]}
      pointed={pointed}
      onPoint={setPointed}
      legend={
        <>
          <Sign look="median" /> {write(last)}
        </>
      }
    />
  );
}
