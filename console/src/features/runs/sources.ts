import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";

/** The sources of runs, with their words in queries and their labels. */
export const sources: readonly (readonly [key: string, source: RunSource, label: string])[] = [
  ["web", RunSource.WEB, "Console"],
  ["cli", RunSource.CLI, "CLI or SDK"],
  ["schedule", RunSource.SCHEDULE_TRIGGER, "Schedule"],
  ["artifact", RunSource.ARTIFACT_TRIGGER, "Artifact"],
  ["tracked", RunSource.TRACKED, "Tracked"],
];
