import { SlotState } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { FixedRateUnit, TriggerAutomationSpecType, type TriggerAutomationSpec } from "@gen/flyteidl2/task/common_pb.js";
import { Filter_Function, type Filter } from "@gen/flyteidl2/common/list_pb.js";
import { TriggerRevisionAction } from "@gen/flyteidl2/trigger/trigger_definition_pb.js";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FilterSchema } from "@gen/flyteidl2/common/list_pb.js";
import { t, tn } from "@/texts/texts";
import type { TriggerKind, TriggersSearch } from "./search";

const units: Partial<Record<FixedRateUnit, (n: number) => string>> = {
  [FixedRateUnit.MINUTE]: (n) => tn(n, "every minute", "every {n} minutes"),
  [FixedRateUnit.HOUR]: (n) => tn(n, "every hour", "every {n} hours"),
  [FixedRateUnit.DAY]: (n) => tn(n, "every day", "every {n} days"),
};

/** What starts the runs of a trigger, in words. */
export function automationWords(spec: TriggerAutomationSpec | undefined): string {
  switch (spec?.automation.case) {
    case "schedule": {
      const { expression } = spec.automation.value;
      switch (expression.case) {
        case "cron":
          return `${expression.value.expression} (${expression.value.timezone || "UTC"})`;
        case "cronExpression":
          // eslint-disable-next-line @typescript-eslint/no-deprecated -- older clients send it
          return `${expression.value} (UTC)`;
        case "rate":
          return units[expression.value.unit]?.(expression.value.value) ?? "?";
        default:
          return t("no schedule");
      }
    }
    case "artifact": {
      const { artifactName, version, partitions } = spec.automation.value;
      const pairs = Object.entries(partitions).map(([key, value]) => `${key}=${value}`);
      return t("on artifact: {name}{version}{partitions}", { name: artifactName, version: version && `@${version}`, partitions: pairs.length > 0 ? ` (${pairs.sort().join(", ")})` : "" });
    }
    default:
      return spec?.type === TriggerAutomationSpecType.TYPE_NONE ? t("manual") : t("unknown");
  }
}

/** The kinds of triggers, for a filter. */
export const kindWords: Record<TriggerKind, string> = { schedule: t("Scheduled"), artifact: t("On artifact"), none: t("Manual") };

const states: Record<SlotState, string> = {
  [SlotState.UNSPECIFIED]: t("Unknown"),
  [SlotState.PENDING]: t("Pending"),
  [SlotState.STARTED]: t("Started"),
  [SlotState.FAILED]: t("Not started"),
  [SlotState.SKIPPED]: t("Skipped"),
};

/** The state of a slot as text. FAILED means that no run was created; a run that failed counts as started. */
export const stateWords = (state: SlotState): string => states[state];

const actions: Record<TriggerRevisionAction, string> = {
  [TriggerRevisionAction.UNSPECIFIED]: t("Changed"),
  [TriggerRevisionAction.DEPLOY]: t("Deployed"),
  [TriggerRevisionAction.ACTIVATE]: t("Enabled"),
  [TriggerRevisionAction.DEACTIVATE]: t("Disabled"),
  [TriggerRevisionAction.DELETE]: t("Deleted"),
};

/** What a revision changed, as text. */
export const actionWords = (action: TriggerRevisionAction): string => actions[action];

/** What happens to runs that were due while no server could start them. */
export function catchUpWords(policy: string, limit: number): string {
  switch (policy) {
    case "all":
      return t("all missed runs, up to {limit}", { limit });
    case "latest":
      return t("the latest missed run");
    case "none":
      return t("no missed runs");
    default:
      return policy;
  }
}

/** The filters of the list. */
export function filtersOf({ q, task, active, kind }: TriggersSearch): MessageInitShape<typeof FilterSchema>[] {
  const equal = (field: string, value: string) => ({ function: Filter_Function.EQUAL, field, values: [value] }) satisfies Partial<Filter>;
  return [
    ...(q === undefined ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [q] }]),
    ...(task === undefined ? [] : [equal("task_name", task)]),
    ...(active === undefined ? [] : [equal("active", String(active))]),
    ...(kind === undefined ? [] : [equal("automation_type", kind)]),
  ];
}

/** The moment of an input such as 2026-06-01T12:30, in UTC; undefined if it is none. */
export function utcOf(text: string): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/.test(text)) return undefined;
  const at = new Date(`${text}Z`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}
