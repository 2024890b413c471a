import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { t } from "@/texts/texts";

/** The sources of runs, with their words in queries and their labels. */
export const sources: readonly (readonly [key: string, source: RunSource, label: string])[] = [
  ["web", RunSource.WEB, t("Console")],
  ["cli", RunSource.CLI, t("CLI or SDK")],
  ["schedule", RunSource.SCHEDULE_TRIGGER, t("Schedule")],
  ["artifact", RunSource.ARTIFACT_TRIGGER, t("Artifact")],
  ["tracked", RunSource.TRACKED, t("Tracked")],
];
