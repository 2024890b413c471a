import { WaitCause, type RunWait, type Wait } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { count } from "@/design/format";
import { language } from "@/texts/language";
import { t, tn } from "@/texts/texts";

/** What kind of thing is waited for, by which the page of waits groups. */
export type WaitKind = "person" | "queue" | "capacity" | "image" | "limit" | "other";

const kinds: Readonly<Partial<Record<WaitCause, WaitKind>>> = {
  [WaitCause.SIGNAL]: "person",
  [WaitCause.QUEUE_ACTIONS]: "queue",
  [WaitCause.QUEUE_RUNS]: "queue",
  [WaitCause.TURN]: "queue",
  [WaitCause.RUN_CONCURRENCY]: "limit",
  [WaitCause.INSTALLATION]: "limit",
  [WaitCause.PLACEMENT]: "capacity",
  [WaitCause.CLUSTER]: "capacity",
  [WaitCause.WORKER_SLOTS]: "capacity",
  [WaitCause.WORKER_START]: "capacity",
  [WaitCause.WORKER_PROBLEM]: "capacity",
};

/** A cluster that has an action says what it does with it; the word image is in everything that it says of images. */
const ofImage = ({ cause, message }: Wait): boolean => cause === WaitCause.CLUSTER && /\bimage\b/i.test(message);

export const kindOfWait = (wait: Wait): WaitKind => (ofImage(wait) ? "image" : (kinds[wait.cause] ?? "other"));

/** What is waited for, in a few words: "Waiting for queue gpu, behind finetune-a". */
export function waitWords({ wait, holders, actions }: Pick<RunWait, "wait" | "holders" | "actions">): string {
  if (!wait) return t("Waiting");
  const behind = holders[0]?.runId ? t(", behind {name}", { name: holders[0].runId.name }) : "";
  switch (wait.cause) {
    case WaitCause.SIGNAL:
      return actions > 1 ? t("Waiting for {actions} approvals", { actions: count(actions) }) : t("Waiting for approval");
    case WaitCause.QUEUE_ACTIONS:
    case WaitCause.QUEUE_RUNS:
      return t("Waiting for queue {queue}{behind}", { queue: wait.queue, behind });
    case WaitCause.TURN:
      return t("Waiting for its turn in queue {queue}", { queue: wait.queue });
    case WaitCause.INSTALLATION:
      return t("Waiting for the limit of the installation{behind}", { behind });
    case WaitCause.RUN_CONCURRENCY:
      return t("Waiting for the limit of the run");
    case WaitCause.PLACEMENT:
      return wait.resource === "" ? t("Waiting for a cluster") : t("Waiting for a cluster with free {resource}", { resource: wait.resource });
    case WaitCause.CLUSTER:
      return ofImage(wait) ? t("Waiting for its image") : t("Waiting for the cluster");
    case WaitCause.WORKER_SLOTS:
    case WaitCause.WORKER_START:
    case WaitCause.WORKER_PROBLEM:
      return t("Waiting for a worker");
    case WaitCause.CONNECTOR:
      return t("Waiting for the connector");
    case WaitCause.CACHE_RESERVATION:
      return t("Waiting for the same outputs in the cache");
    case WaitCause.BACKOFF:
      return t("Waiting for the next attempt");
    default:
      return t("About to start");
  }
}

/** The sentence of a cause by its numbers; undefined for causes of which only the server's sentence says more than the cause. */
const sentences: Record<WaitCause, ((wait: Wait) => string) | undefined> = {
  [WaitCause.UNSPECIFIED]: undefined,
  [WaitCause.PENDING]: () => t("It is about to start."),
  [WaitCause.RUN_CONCURRENCY]: (wait) => t("The run is at its limit of concurrent actions ({used} of {limit} in use).", numbers(wait)),
  [WaitCause.QUEUE_ACTIONS]: (wait) => t("Queue {queue} is at its limit ({used} of {limit} in use).", { queue: wait.queue, ...numbers(wait) }),
  [WaitCause.QUEUE_RUNS]: (wait) => t("Queue {queue} is at its limit of concurrent runs ({used} of {limit} in use).", { queue: wait.queue, ...numbers(wait) }),
  [WaitCause.INSTALLATION]: (wait) => t("The installation is at its limit of concurrent actions ({used} of {limit} in use).", numbers(wait)),
  [WaitCause.CACHE_RESERVATION]: () => t("Another action computes the outputs that the cache has no entry for yet."),
  [WaitCause.BACKOFF]: undefined, // the server says which attempt was lost, and why
  [WaitCause.CLUSTER]: undefined, // the cluster's own words
  [WaitCause.SIGNAL]: undefined, // the name of the condition, and until when
  [WaitCause.TURN]: (wait) => t("Its turn in queue {queue} has not come.", { queue: wait.queue }),
  [WaitCause.WORKER_SLOTS]: undefined, // the name of the pool
  [WaitCause.WORKER_START]: undefined,
  [WaitCause.WORKER_PROBLEM]: undefined,
  [WaitCause.CONNECTOR]: undefined, // the connector's own words
  [WaitCause.PLACEMENT]: undefined, // which clusters lack what
};

const numbers = ({ used, limit }: Wait) => ({ used: count(used), limit: count(limit) });

/** Why it waits, in a sentence: that of the server, or in other languages that of the cause where its numbers are all there is to say. */
export function sentenceOf(wait: Wait): string {
  const own = language === "en" ? undefined : sentences[wait.cause]?.(wait);
  if (own !== undefined) return wait.ahead > 0n ? `${own} ${tn(Number(wait.ahead), "{n} action is ahead.", "{n} actions are ahead.")}` : own;
  const { message } = wait;
  return message === "" ? "" : `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`;
}
