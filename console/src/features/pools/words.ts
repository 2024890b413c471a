import { WorkerState, type Pool } from "@gen/flytebinary/insight/v1/pools_pb.js";
import type { ClusterEvent } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { count } from "@/design/format";
import { t, tn } from "@/texts/texts";

/** The poll interval in milliseconds. */
export const every = 5000;

export const stateWords: Record<WorkerState, string> = {
  [WorkerState.UNSPECIFIED]: t("Unknown"),
  [WorkerState.STARTING]: t("Starting"),
  [WorkerState.LIVE]: t("Ready"),
  [WorkerState.DRAINING]: t("Draining"),
  [WorkerState.GONE]: t("Terminated"),
};

/** The workers of a pool by state, such as "1 ready, 2 starting". */
export function workersWords({ workers }: Pick<Pool, "workers">): string {
  const states = [
    [workers?.live ?? 0, "ready"],
    [workers?.starting ?? 0, "starting"],
    [workers?.draining ?? 0, "draining"],
  ] as const;
  const words = states.filter(([n]) => n > 0).map(([n, state]) => `${count(n)} ${state}`);
  return words.length > 0 ? words.join(", ") : t("None");
}

/** What the policy allows, such as "1 to 2 workers with 3 slots each". */
export function policyWords({ minReplicas: least, maxReplicas: most, concurrency }: Pick<Pool, "minReplicas" | "maxReplicas" | "concurrency">): string {
  return least === most
    ? t("{workers} with {slots} each", { workers: tn(most, "{n} worker", "{n} workers"), slots: tn(concurrency, "{n} slot", "{n} slots") })
    : t("{least} to {workers} with {slots} each", { least: count(least), workers: tn(most, "{n} worker", "{n} workers"), slots: tn(concurrency, "{n} slot", "{n} slots") });
}

/** The share of attempts that began in a worker which was up already; undefined without attempts. */
export function warmWords({ attempts, warmHits }: Pick<Pool, "attempts" | "warmHits">): string | undefined {
  return attempts === 0n ? undefined : t("{hits} of {attempts} ({share} %)", { hits: count(warmHits), attempts: count(attempts), share: Math.round((Number(warmHits) / Number(attempts)) * 100) });
}

/** How many attempts had to load their code themselves, and why the latest had to; undefined if none had to. */
export function slowWords({ slowStarts, slowStart }: Pick<Pool, "slowStarts" | "slowStart">): string | undefined {
  return slowStarts === 0n ? undefined : tn(Number(slowStarts), "{n} loaded its code alone: {reason}", "{n} loaded their code alone: {reason}", { reason: slowStart });
}

/** The id of the worker that has or had an attempt, as its events tell. */
export function workerOf(events: readonly Pick<ClusterEvent, "reason" | "sourceComponent" | "message">[] | undefined): string | undefined {
  const told = events?.findLast(({ reason, sourceComponent }) => reason === "Worker" && sourceComponent === "worker");
  return told?.message.replace(/^worker /, "");
}
