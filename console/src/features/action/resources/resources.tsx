import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { GetAttemptUsageResponse } from "@gen/flytebinary/insight/v1/usage_pb.js";
import { usePreferences } from "@/app/preferences";
import { Chart, Charts, Sign } from "@/design/chart";
import { CopyButton } from "@/design/copy";
import { dateOf, duration, moment, plural } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { isLive } from "@/design/phases";
import { actionId } from "@/entities/action/name";
import type { TabProps } from "../tab";
import { attemptOf } from "../use-action";
import { memory, resources, spread, timeOf, topOf, type Resource } from "./curves";
import css from "./resources.module.css";

/** What an attempt uses over time, next to what its task requests, and what the task could request. */
export function ResourcesTab({ action, details, attempt }: TabProps) {
  const live = isLive(attemptOf(details, attempt)?.phase ?? ActionPhase.UNSPECIFIED);
  const answer = useQuery(InsightService.method.getAttemptUsage, { actionId: actionId(action), attempt }, { refetchInterval: live ? 5_000 : false });
  if (answer.error?.code === Code.Unimplemented) return <Notice title="This server does not measure what tasks use" />;
  return (
    <section className={css["section"]} aria-label="Resources" data-testid="resources">
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="measurements" />}
      {answer.data && answer.data.points.length === 0 && <p className={css["muted"]}>{live ? "No measurement has arrived yet." : answer.data.note}</p>}
      {answer.data && answer.data.points.length > 0 && <Usage usage={answer.data} />}
      <Suggestion of={details.spec.case === "task" ? details.spec.value.taskTemplate?.id : undefined} />
    </section>
  );
}

function Usage({ usage }: { readonly usage: GetAttemptUsageResponse }) {
  const [pointed, setPointed] = useState<number>();
  const { zone } = usePreferences();
  const shown = resources.filter((one) => one.of(usage.peaks) !== undefined);
  const first = dateOf(usage.points[0]?.at);
  const last = dateOf(usage.points.at(-1)?.at);
  const time = pointed === undefined ? undefined : timeOf(usage.points, pointed);
  const spent = usage.cpuTime ? Number(usage.cpuTime.seconds) * 1000 + usage.cpuTime.nanos / 1e6 : 0;
  return (
    <>
      {usage.outOfMemory && (
        <Notice tone="danger" title="Out of memory">
          <p>
            The attempt was killed{usage.endedAt && ` at ${moment(dateOf(usage.endedAt) ?? new Date(), zone)}`} because it used more memory than its limit
            {memoryLimit(usage)}. The curve ends at the last measurement before that, so it may not show how far memory rose.
          </p>
        </Notice>
      )}
      <Charts>
        {shown.map((one) => (
          <Curve key={one.title} resource={one} usage={usage} pointed={pointed} onPoint={setPointed} />
        ))}
      </Charts>
      <p className={css["about"]} role="status">
        {time
          ? [moment(time, zone), ...shown.map((one) => at(one, usage, pointed ?? 0)).filter(Boolean)].join(" · ")
          : first && last && `${plural(usage.points.length, "measurement")} over ${duration(last.getTime() - first.getTime())}, ${duration(spent)} of processor time`}
      </p>
      <table className={css["table"]} data-testid="resource-peaks">
        <thead>
          <tr>
            <th scope="col">Resource</th>
            <th scope="col">Peak</th>
            <th scope="col">Request</th>
            <th scope="col">Limit</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((one) => (
            <tr key={one.title}>
              <th scope="row">{one.title}</th>
              {[usage.peaks, usage.requests, usage.limits].map((amounts, column) => {
                const value = one.of(amounts);
                return <td key={column}>{value === undefined ? "–" : one.write(value)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const memoryLimit = (usage: GetAttemptUsageResponse): string => {
  const limit = memory.of(usage.limits);
  return limit === undefined ? "" : ` of ${memory.write(limit)}`;
};

function at(resource: Resource, usage: GetAttemptUsageResponse, column: number): string {
  const value = spread(usage.points, resource.of)[column];
  return value === undefined ? "" : `${resource.title} ${resource.write(value)}`;
}

function Curve({
  resource,
  usage,
  pointed,
  onPoint,
}: {
  readonly resource: Resource;
  readonly usage: GetAttemptUsageResponse;
  readonly pointed: number | undefined;
  readonly onPoint: (at: number | undefined) => void;
}) {
  const values = spread(usage.points, resource.of);
  const peak = resource.of(usage.peaks) ?? 0;
  const request = resource.of(usage.requests);
  const limit = resource.of(usage.limits);
  const max = topOf(peak, [request, limit]);
  const named = (word: string, value: number) => (value > max ? `${word} ${resource.write(value)}, above` : word);
  const flat = (value: number | undefined) => (value === undefined || value > max ? values.map(() => undefined) : values.map(() => value));
  return (
    <Chart
      title={resource.title}
      label={`${resource.title}: peak ${resource.write(peak)}${request === undefined ? "" : `, request ${resource.write(request)}`}${limit === undefined ? "" : `, limit ${resource.write(limit)}`}`}
      count={values.length}
      max={max}
      write={resource.write}
      lines={[
        { values: flat(limit), look: "failed" },
        { values: flat(request), look: "tail" },
        { values, look: "median" },
      ]}
      pointed={pointed}
      onPoint={onPoint}
      legend={
        <>
          <Sign look="median" /> used
          {request !== undefined && (
            <>
              <Sign look="tail" /> {named("request", request)}
            </>
          )}
          {limit !== undefined && (
            <>
              <Sign look="failed" /> {named("limit", limit)}
            </>
          )}
        </>
      }
    />
  );
}

/** From how many measured attempts on the server suggests something. */
const neededForSuggestion = 3;

/** What the last attempts of the task used, and what it could request. */
export function Suggestion({ of: id }: { readonly of: { readonly project: string; readonly domain: string; readonly name: string } | undefined }) {
  const { data } = useQuery(
    InsightService.method.suggestResources,
    { project: id?.project ?? "", domain: id?.domain ?? "", name: id?.name ?? "" },
    {
      enabled: Boolean(id?.project && id.domain && id.name),
      staleTime: 60_000,
      retry: false,
      refetchInterval: ({ state }) => (state.data?.code ? false : 15_000),
    },
  );
  if (data && data.attempts > 0 && data.attempts < neededForSuggestion) {
    return <p className={css["muted"]}>A suggestion for this task needs three attempts that were measured; so far there {data.attempts === 1 ? "is one" : "are two"}.</p>;
  }
  if (!data?.code) return null;
  return (
    <section className={css["section"]} aria-label="Suggestion" data-testid="suggestion">
      <h3>Suggestion for this task</h3>
      <p className={css["muted"]}>
        By the last {plural(data.attempts, "attempt")} that {data.attempts === 1 ? "was" : "were"} measured: the 95th percentile of the peaks and a fifth.
        {data.outOfMemory > 0 && ` ${plural(data.outOfMemory, "attempt")} ran out of memory and ${data.outOfMemory === 1 ? "counts" : "count"} with half more than the limit.`}
      </p>
      <div className={css["code"]}>
        <code>{data.code}</code>
        <CopyButton text={data.code} label="Copy resources" />
      </div>
    </section>
  );
}
