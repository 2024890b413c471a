import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { ActionDetails, ActionAttempt, ClusterEvent } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { pause, renewal, renewed } from "@/api/renewed";
import { client } from "@/api/transport";
import { useWatch, type Watched } from "@/api/use-watch";
import { isTerminal } from "@/design/phases";
import { actionId, keyOf, type ActionName } from "@/entities/action/name";
import { serviceOf } from "@/entities/run/kind";

/** Follows the details of an action. */
export function useActionDetails(action: ActionName): Watched<ActionDetails> {
  return useWatch(keyOf(action), (signal) => details(action, signal), (_, next: ActionDetails) => next);
}

const details = (action: ActionName, signal: AbortSignal): AsyncGenerator<ActionDetails> =>
  renewed(
    (quiet) => client(serviceOf(action.run)).watchActionDetails({ actionId: actionId(action) }, { signal: quiet }),
    (message) => message.details,
    (last) => isTerminal(last.status?.phase ?? ActionPhase.UNSPECIFIED),
    signal,
  );

/** Follows the cluster events of an attempt. */
export function useClusterEvents(action: ActionName, attempt: number, live: boolean): Watched<readonly ClusterEvent[]> {
  return useWatch(`${keyOf(action)}/${attempt}/${live}`, (signal) => clusterEvents(action, attempt, live, signal), merge);
}

async function* clusterEvents(action: ActionName, attempt: number, live: boolean, signal: AbortSignal): AsyncGenerator<readonly ClusterEvent[]> {
  for await (const message of client(RunService).watchClusterEvents({ id: actionId(action), attempt }, { signal })) yield message.clusterEvents;
  if (!live) await pause(renewal, signal);
}

const eventKey = (event: ClusterEvent): string => `${event.occurredAt?.seconds ?? 0n}.${event.occurredAt?.nanos ?? 0} ${event.reason} ${event.message}`;

/** Appends new events. A reopened stream repeats the known ones, which are dropped. */
export function merge(known: readonly ClusterEvent[] | undefined, more: readonly ClusterEvent[]): readonly ClusterEvent[] {
  if (!known?.length) return more;
  const keys = new Set(known.map(eventKey));
  return [...known, ...more.filter((event) => !keys.has(eventKey(event)))];
}

/** The attempt with a number, or the latest. */
export function attemptOf(details: ActionDetails, attempt: number | undefined): ActionAttempt | undefined {
  return details.attempts.find((known) => known.attempt === attempt) ?? latest(details);
}

export const latest = (details: ActionDetails): ActionAttempt | undefined =>
  details.attempts.reduce<ActionAttempt | undefined>((best, next) => (best && best.attempt > next.attempt ? best : next), undefined);
