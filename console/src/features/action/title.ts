import type { ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";

/** The display name of an action. */
export function titleOf(details: ActionDetails): string {
  const spec = details.metadata?.spec;
  switch (spec?.case) {
    case "task":
      return spec.value.shortName || spec.value.id?.name || nameOf(details);
    case "trace":
    case "condition":
      return spec.value.name || nameOf(details);
    default:
      return nameOf(details);
  }
}

const nameOf = (details: ActionDetails): string => details.id?.name ?? "";
