import type { Action } from "@gen/flyteidl2/workflow/run_definition_pb.js";

/** The display name of an action: the name of its task, trace or condition. */
export function titleOf({ id, metadata }: Pick<Action, "id" | "metadata">): string {
  const spec = metadata?.spec;
  const own = id?.name ?? "";
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
