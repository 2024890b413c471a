import { WaitCause, type RunWait, type Wait } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { count } from "@/design/format";
import { language } from "@/texts/language";
import { asSentence, isFree, sayMessage, sayParts, type Said } from "@/texts/server";
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

/** What is said of a cause before a free text of the server. */
const general: Partial<Record<WaitCause, string>> = {
  [WaitCause.CACHE_RESERVATION]: t("Another action computes the same outputs."),
  [WaitCause.PLACEMENT]: t("No cluster takes it now."),
};

/** Why it waits, in sentences: those of the server, in the language of the page where the catalogue has them. */
export function sentencesOf(wait: Wait): readonly Said[] {
  if (language === "en" || wait.sentences.length === 0) return wait.message === "" ? [] : [{ ...sayMessage(wait.message), text: asSentence(wait.message) }];
  const said = wait.sentences.map((parts) => {
    const one = sayParts(parts);
    return { ...one, text: asSentence(one.text) };
  });
  const first = general[wait.cause];
  return first !== undefined && wait.sentences.every(isFree) ? [{ text: first }, ...said] : said;
}

/** The same in one line. */
export const sentenceOf = (wait: Wait): string => sentencesOf(wait).map(({ text }) => text).join(" ");
