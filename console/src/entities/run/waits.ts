import { WaitCause, type RunWait, type Wait } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { count } from "@/design/format";
import { t } from "@/texts/texts";

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
      return actions > 1 ? `Waiting for ${count(actions)} approvals` : "Waiting for approval";
    case WaitCause.QUEUE_ACTIONS:
    case WaitCause.QUEUE_RUNS:
      return `Waiting for queue ${wait.queue}${behind}`;
    case WaitCause.TURN:
      return `Waiting for its turn in queue ${wait.queue}`;
    case WaitCause.INSTALLATION:
      return `Waiting for the limit of the installation${behind}`;
    case WaitCause.RUN_CONCURRENCY:
      return "Waiting for the limit of the run";
    case WaitCause.PLACEMENT:
      return `Waiting for a cluster${wait.resource === "" ? "" : ` with free ${wait.resource}`}`;
    case WaitCause.CLUSTER:
      return ofImage(wait) ? "Waiting for its image" : "Waiting for the cluster";
    case WaitCause.WORKER_SLOTS:
    case WaitCause.WORKER_START:
    case WaitCause.WORKER_PROBLEM:
      return "Waiting for a worker";
    case WaitCause.CONNECTOR:
      return "Waiting for the connector";
    case WaitCause.CACHE_RESERVATION:
      return "Waiting for the same outputs in the cache";
    case WaitCause.BACKOFF:
      return "Waiting for the next attempt";
    default:
      return t("About to start");
  }
}

/** The sentence of the server, with a capital and a period. */
export const sentenceOf = ({ message }: Wait): string =>
  message === "" ? "" : `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`;
