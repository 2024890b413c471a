import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { GetAttemptUsageResponse } from "@gen/flytebinary/insight/v1/usage_pb.js";
import { usePreferences } from "@/app/preferences";
import { Chart, Charts, Sign } from "@/design/chart";
import { CopyButton } from "@/design/copy";
import { dateOf, duration, moment } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { isLive } from "@/design/phases";
import { Table } from "@/design/table";
import { actionId } from "@/entities/action/name";
import { t, tn } from "@/texts/texts";
import type { TabProps } from "../tab";
import { attemptOf } from "../use-action";
import { memory, resources, spread, timeOf, topOf, type Resource } from "./curves";
import css from "./resources.module.css";

/** What an attempt uses over time, next to what its task requests, and what the task could request. */
export function ResourcesTab({ action, details, attempt }: TabProps) {
  const live = isLive(attemptOf(details, attempt)?.phase ?? ActionPhase.UNSPECIFIED);
  const answer = useQuery(InsightService.method.getAttemptUsage, { actionId: actionId(action), attempt }, { refetchInterval: live ? 5_000 : false });
  if (answer.error?.code === Code.Unimplemented) return <Notice title={t("This server does not measure what tasks use")} />;
  return (
    <section className={css["section"]} aria-label={t("Resources")} data-testid="resources">
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what={t("measurements")} />}
      {answer.data && answer.data.points.length === 0 && <p className={css["muted"]}>{live ? t("No measurement has arrived yet.") : answer.data.note}</p>}
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
        <Notice tone="danger" title={t("Out of memory")}>
          <p>
            {t("The attempt was killed")}{usage.endedAt && ` ${t("at {time}", { time: moment(dateOf(usage.endedAt) ?? new Date(), zone) })}`} {t("because it used more memory than its limit{limit}. The curve ends at the last measurement before that, so it may not show how far memory rose.", { limit: memoryLimit(usage) })}
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
          : usage.points.length === 1
            ? t("One measurement")
            : first && last && tn(usage.points.length, "{n} measurement over {duration}, {spent} of processor time", "{n} measurements over {duration}, {spent} of processor time", { duration: duration(last.getTime() - first.getTime()), spent: duration(spent) })}
      </p>
      <div data-testid="resource-peaks">
        <Table
          label={t("Peaks")}
          scroll="group"
          rows={shown}
          keyOf={({ title }) => title}
          columns={[
            { label: t("Resource"), cell: ({ title }) => title },
            { label: t("Peak"), number: true, cell: amount(usage.peaks) },
            { label: t("Request"), number: true, cell: amount(usage.requests) },
            { label: t("Limit"), number: true, cell: amount(usage.limits) },
          ]}
        />
      </div>
    </>
  );
}

/** A cell for what is used, requested or allowed of a resource. */
const amount = (amounts: GetAttemptUsageResponse["peaks"]) => (resource: Resource) => {
  const value = resource.of(amounts);
  return value === undefined ? "–" : resource.write(value);
};

const memoryLimit = (usage: GetAttemptUsageResponse): string => {
  const limit = memory.of(usage.limits);
  return limit === undefined ? "" : ` ${t("of {limit}", { limit: memory.write(limit) })}`;
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
  const named = (word: string, value: number) => (value > max ? t("{word} {value}, above", { word, value: resource.write(value) }) : word);
  const flat = (value: number | undefined) => (value === undefined || value > max ? values.map(() => undefined) : values.map(() => value));
  return (
    <Chart
      title={resource.title}
      label={t("{title}: peak {peak}{request}{limit}", { title: resource.title, peak: resource.write(peak), request: request === undefined ? "" : t(", request {amount}", { amount: resource.write(request) }), limit: limit === undefined ? "" : t(", limit {amount}", { amount: resource.write(limit) }) })}
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
          <Sign look="median" /> {t("used")}
          {request !== undefined && (
            <>
              <Sign look="tail" /> {named(t("request"), request)}
            </>
          )}
          {limit !== undefined && (
            <>
              <Sign look="failed" /> {named(t("limit"), limit)}
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
    return <p className={css["muted"]}>{tn(data.attempts, "A suggestion for this task needs three attempts that were measured; so far there is one.", "A suggestion for this task needs three attempts that were measured; so far there are two.")}</p>;
  }
  if (!data?.code) return null;
  return (
    <section className={css["section"]} aria-label={t("Suggestion")} data-testid="suggestion">
      <h3>{t("Suggestion for this task")}</h3>
      <p className={css["muted"]}>
        {tn(
          data.attempts,
          "By the last {n} attempt that was measured: the 95th percentile of the peaks and a fifth.",
          "By the last {n} attempts that were measured: the 95th percentile of the peaks and a fifth.",
        )}
        {data.outOfMemory > 0 && ` ${tn(data.outOfMemory, "{n} attempt ran out of memory and counts with half more than the limit.", "{n} attempts ran out of memory and count with half more than the limit.")}`}
      </p>
      <div className={css["code"]}>
        <code>{data.code}</code>
        <CopyButton text={data.code} label={t("Copy resources")} />
      </div>
    </section>
  );
}
