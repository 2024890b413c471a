import type { Action } from "@gen/flyteidl2/workflow/run_definition_pb.js";

/** The display name of an action: that of its task, trace or condition. */
export function taskOf(action: Action): string {
  const spec = action.metadata?.spec;
  const own = action.id?.name ?? "";
  switch (spec?.case) {
    case "task":
      return spec.value.shortName || spec.value.id?.name || own;
    case "trace":
    case "condition":
      return spec.value.name || own;
    default:
      return own;
  }
}
