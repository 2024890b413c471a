import type { ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";

/** The declared types. Conditions declare none: their answer has its type with it. */
export function interfaceOf({ spec }: ActionDetails) {
  switch (spec.case) {
    case "task":
      return spec.value.taskTemplate?.interface;
    case "trace":
      return spec.value.interface;
    default:
      return undefined;
  }
}
