import { useQuery } from "@connectrpc/connect-query";
import { InsightService, type CacheOutcome } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { WaitCause, type Wait } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { CatalogCacheStatus } from "@gen/flyteidl2/core/catalog_pb.js";
import { useEffect } from "react";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { Notice, ProblemNotice } from "@/design/notice";
import { SaidText } from "@/design/said";
import { Span } from "@/design/time";
import { actionId, type ActionName } from "@/entities/action/name";
import { t } from "@/texts/texts";
import { ActionLink } from "./action-link";
import { sentencesOf } from "@/entities/run/waits";
import css from "./summary.module.css";

/** Phases in which an action waits for something that the server can name. */
const waits: readonly ActionPhase[] = [ActionPhase.QUEUED, ActionPhase.WAITING_FOR_RESOURCES, ActionPhase.INITIALIZING, ActionPhase.PAUSED];
/** The poll interval while it waits, in milliseconds. */
const refresh = 3000;

/** Why an action waits, and the outcome of its cache lookup. */
export function Explanation({
  action,
  phase,
  onSelect,
}: {
  readonly action: ActionName;
  readonly phase: ActionPhase;
  readonly onSelect: (action: string) => void;
}) {
  const waiting = waits.includes(phase);
  const { data, error, refetch } = useQuery(
    InsightService.method.explainAction,
    { actionId: actionId(action) },
    { refetchInterval: waiting ? refresh : false },
  );
  // The explanation belongs to the phase, which the details report first.
  useEffect(() => void refetch(), [phase, refetch]);
  if (error) return waiting ? <ProblemNotice error={error} retry={() => void refetch()} /> : null;
  return (
    <>
      {waiting && data?.wait && data.wait.cause !== WaitCause.SIGNAL && <Waiting action={action} wait={data.wait} onSelect={onSelect} />}
      {data?.cache && <Cache outcome={data.cache} />}
    </>
  );
}

const titles: Record<WaitCause, string> = {
  [WaitCause.UNSPECIFIED]: t("Waiting"),
  [WaitCause.PENDING]: t("About to start"),
  [WaitCause.RUN_CONCURRENCY]: t("Run concurrency limit reached"),
  [WaitCause.QUEUE_ACTIONS]: t("Queue is full"),
  [WaitCause.QUEUE_RUNS]: t("Queue run limit reached"),
  [WaitCause.INSTALLATION]: t("Cluster capacity reached"),
  [WaitCause.CACHE_RESERVATION]: t("Waiting for another action with the same cache key"),
  [WaitCause.BACKOFF]: t("Backing off before the next attempt"),
  [WaitCause.CLUSTER]: t("Waiting for the cluster"),
  [WaitCause.SIGNAL]: t("Waiting for approval"),
  [WaitCause.TURN]: t("Waiting for its turn"),
  [WaitCause.WORKER_SLOTS]: t("All workers are busy"),
  [WaitCause.WORKER_START]: t("Waiting for a worker to start"),
  [WaitCause.WORKER_PROBLEM]: t("No worker can start"),
  [WaitCause.CONNECTOR]: t("Waiting for the connector"),
  [WaitCause.PLACEMENT]: t("Waiting for a cluster"),
};

/** The advice for a limit. */
const remedies: Partial<Record<WaitCause, string>> = {
  [WaitCause.RUN_CONCURRENCY]: t("It starts automatically when other actions of the run end. A new run can have a higher limit."),
  [WaitCause.QUEUE_ACTIONS]: t("It starts automatically when there is capacity. Ask your platform admin to raise the limits of the queue."),
  [WaitCause.QUEUE_RUNS]: t("It starts automatically when there is capacity. Ask your platform admin to raise the limits of the queue."),
  [WaitCause.INSTALLATION]: t("It starts automatically when there is capacity. Ask your platform admin to raise the limit."),
  [WaitCause.WORKER_SLOTS]: t("It starts automatically when a slot is free. More replicas or a higher concurrency in the ReusePolicy run more at once."),
};

function Waiting({ action, wait, onSelect }: { readonly action: ActionName; readonly wait: Wait; readonly onSelect: (action: string) => void }) {
  const limit = Number(wait.limit);
  const used = Number(wait.used);
  return (
    <div data-testid="waiting">
      <Notice tone={wait.cause === WaitCause.PENDING ? "plain" : "warning"} title={titles[wait.cause]}>
        <p>
          <SaidText of={sentencesOf(wait)} />
        </p>
        {limit > 0 && (
          <div className={css["gauge"]}>
            <meter max={limit} value={used} aria-label={t("Usage of the limit")} />
            <span>
              {t("{used} of {limit} used", { used: count(used), limit: count(limit) })}
            </span>
          </div>
        )}
        <Facts
          facts={[
            [t("Queue"), wait.queue],
            [t("Resource"), wait.resource],
            [t("Ahead"), wait.ahead > 0n && count(wait.ahead)],
            [t("Waiting for"), wait.since && <Span from={dateOf(wait.since)} to={undefined} />],
            [t("Blocked by"), wait.behind && <ActionLink id={wait.behind} here={action} onSelect={onSelect} />],
          ]}
        />
        {remedies[wait.cause] !== undefined && <p className={css["muted"]}>{remedies[wait.cause]}</p>}
      </Notice>
    </div>
  );
}

const sentence = (words: string): string => (words === "" ? "" : `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`);

const outcomes: Record<CatalogCacheStatus, string> = {
  [CatalogCacheStatus.CACHE_DISABLED]: t("Not used"),
  [CatalogCacheStatus.CACHE_MISS]: t("Cache miss"),
  [CatalogCacheStatus.CACHE_HIT]: t("Cache hit"),
  [CatalogCacheStatus.CACHE_POPULATED]: t("Cache miss; outputs stored"),
  [CatalogCacheStatus.CACHE_LOOKUP_FAILURE]: t("Cache lookup failed; the action ran"),
  [CatalogCacheStatus.CACHE_PUT_FAILURE]: t("Cache miss; storing the outputs failed"),
  [CatalogCacheStatus.CACHE_SKIPPED]: t("Skipped, as requested by the run"),
  [CatalogCacheStatus.CACHE_EVICTED]: t("Evicted"),
};

function Cache({ outcome }: { readonly outcome: CacheOutcome }) {
  return (
    <section className={css["section"]} data-testid="cache">
      <h3>{t("Cache")}</h3>
      <Facts
        facts={[
          [t("Outcome"), outcomes[outcome.status]],
          [t("Reason"), outcome.reason && sentence(outcome.reason)],
          [
            t("Key"),
            outcome.key && (
              <>
                <code>{outcome.key}</code>
                <CopyButton text={outcome.key} label={t("Copy key")} />
              </>
            ),
          ],
        ]}
      />
    </section>
  );
}
