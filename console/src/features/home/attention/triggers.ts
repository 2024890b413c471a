import type { TriggerName } from "@gen/flyteidl2/common/identifier_pb.js";
import type { TriggerSummary } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { msOf } from "@/design/format";
import { isFailure } from "@/design/phases";

/** A trigger that needs attention: its run is overdue, or some of its latest runs failed. */
export interface TroubledTrigger {
  readonly trigger: Pick<TriggerName, "project" | "domain" | "taskName" | "name">;
  /** Since when a run is due that has not started, in milliseconds. */
  readonly overdue: number | undefined;
  /** How many of how many latest runs failed since the last look. */
  readonly failed: number;
  readonly of: number;
  /** The run that failed last. */
  readonly run: string | undefined;
  readonly at: number;
}

/** A run that is this late is overdue; the scheduler looks more often. */
export const late = 60_000;

/** What is wrong with triggers of a place, the one that is overdue for longest first, then the one that failed last. */
export function troubledOf(
  place: { readonly project: string; readonly domain: string },
  summaries: readonly TriggerSummary[],
  since: number,
  now: number,
): readonly TroubledTrigger[] {
  return summaries.flatMap((summary) => {
    const next = msOf(summary.next);
    const overdue = next !== undefined && now - next > late ? next : undefined;
    const failures = summary.latest.filter(({ phase, slot }) => isFailure(phase) && (msOf(slot?.time) ?? 0) >= since);
    if (overdue === undefined && failures.length === 0) return [];
    const { taskName = "", name = "" } = summary.trigger ?? {};
    const [last] = failures;
    return [
      {
        ...{ trigger: { ...place, taskName, name }, overdue, failed: failures.length, of: summary.latest.length },
        ...{ run: last?.slot?.runId?.name, at: msOf(last?.slot?.time) ?? 0 },
      },
    ];
  });
}

export const worstFirst = (a: TroubledTrigger, b: TroubledTrigger): number => (a.overdue ?? Infinity) - (b.overdue ?? Infinity) || b.at - a.at;
