import { useQuery } from "@connectrpc/connect-query";
import { InsightService, WaitCause, type CacheOutcome, type Wait } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { CatalogCacheStatus } from "@gen/flyteidl2/core/catalog_pb.js";
import { useEffect } from "react";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { Notice, ProblemNotice } from "@/design/notice";
import { Span } from "@/design/time";
import { actionId, type ActionName } from "../use-action";
import { ActionLink } from "./action-link";
import css from "./summary.module.css";

const waits: readonly ActionPhase[] = [ActionPhase.QUEUED, ActionPhase.WAITING_FOR_RESOURCES, ActionPhase.INITIALIZING, ActionPhase.PAUSED];
/** How often the reason is asked for while it waits, in milliseconds. */
const refresh = 3000;

/** Why an action waits, and what the cache did for it. */
export function Explanation({ action, phase, onSelect }: { readonly action: ActionName; readonly phase: ActionPhase; readonly onSelect: (action: string) => void }) {
  const waiting = waits.includes(phase);
  const { data, error, refetch } = useQuery(InsightService.method.explainAction, { actionId: actionId(action) }, { refetchInterval: waiting ? refresh : false });
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
  [WaitCause.UNSPECIFIED]: "It waits",
  [WaitCause.PENDING]: "It is about to go on",
  [WaitCause.RUN_CONCURRENCY]: "It waits for other actions of its run",
  [WaitCause.QUEUE_ACTIONS]: "It waits for room in its queue",
  [WaitCause.QUEUE_RUNS]: "It waits for other runs of its queue",
  [WaitCause.INSTALLATION]: "It waits for room in the installation",
  [WaitCause.CACHE_RESERVATION]: "It waits for another action that computes the same",
  [WaitCause.BACKOFF]: "It waits before the next attempt",
  [WaitCause.CLUSTER]: "It waits for the cluster",
  [WaitCause.SIGNAL]: "It waits for a person",
  [WaitCause.TURN]: "It waits for its turn",
};

/** What one can do about a limit. */
const remedies: Partial<Record<WaitCause, string>> = {
  [WaitCause.RUN_CONCURRENCY]: "It goes on by itself when others end. A later run may have a higher limit.",
  [WaitCause.QUEUE_ACTIONS]: "It goes on by itself when others end. Who runs the installation can raise the limits of the queue.",
  [WaitCause.QUEUE_RUNS]: "It goes on by itself when others end. Who runs the installation can raise the limits of the queue.",
  [WaitCause.INSTALLATION]: "It goes on by itself when others end. Who runs the installation can raise the limit.",
};

function Waiting({ action, wait, onSelect }: { readonly action: ActionName; readonly wait: Wait; readonly onSelect: (action: string) => void }) {
  const limit = Number(wait.limit);
  const used = Number(wait.used);
  return (
    <div data-testid="waiting">
      <Notice tone={wait.cause === WaitCause.PENDING ? "plain" : "warning"} title={titles[wait.cause]}>
        <p>{sentence(wait.message)}</p>
        {limit > 0 && (
          <div className={css["gauge"]}>
            <meter max={limit} value={used} aria-label="How much of the limit is taken" />
            <span>
              {count(used)} of {count(limit)} taken
            </span>
          </div>
        )}
        <Facts
          facts={[
            ["Queue", wait.queue],
            ["Before it", wait.ahead > 0n && count(wait.ahead)],
            ["Has waited", wait.since && <Span from={dateOf(wait.since)} to={undefined} />],
            ["Behind", wait.behind && <ActionLink id={wait.behind} here={action} onSelect={onSelect} />],
          ]}
        />
        {remedies[wait.cause] !== undefined && <p className={css["muted"]}>{remedies[wait.cause]}</p>}
      </Notice>
    </div>
  );
}

const sentence = (words: string): string => (words === "" ? "" : `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`);

const outcomes: Record<CatalogCacheStatus, string> = {
  [CatalogCacheStatus.CACHE_DISABLED]: "Not used",
  [CatalogCacheStatus.CACHE_MISS]: "Miss: it had to run",
  [CatalogCacheStatus.CACHE_HIT]: "Hit: the outputs are from before",
  [CatalogCacheStatus.CACHE_POPULATED]: "Miss, and kept for the next time",
  [CatalogCacheStatus.CACHE_LOOKUP_FAILURE]: "The lookup failed, so it ran",
  [CatalogCacheStatus.CACHE_PUT_FAILURE]: "Miss; the outputs could not be kept",
  [CatalogCacheStatus.CACHE_SKIPPED]: "Passed over, as the run asked for",
  [CatalogCacheStatus.CACHE_EVICTED]: "Evicted",
};

function Cache({ outcome }: { readonly outcome: CacheOutcome }) {
  return (
    <section className={css["section"]} data-testid="cache">
      <h3>Cache</h3>
      <Facts
        facts={[
          ["Outcome", outcomes[outcome.status]],
          ["Why", outcome.reason && sentence(outcome.reason)],
          [
            "Key",
            outcome.key && (
              <>
                <code>{outcome.key}</code>
                <CopyButton text={outcome.key} label="Copy the key" />
              </>
            ),
          ],
        ]}
      />
    </section>
  );
}
