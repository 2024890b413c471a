import { t } from "@/texts/texts";

/** The words before a colon, in the order of the server, with what they are for; synonyms have no words of their own. */
export const keys: readonly (readonly [key: string, about: string])[] = [
  ["name", t("part of the run's name, name= exactly")],
  ["task", t("part of the task's name, task= exactly")],
  ["version", t("version of the task")],
  ["phase", t("failed, running, succeeded …")],
  ["status", ""],
  ["source", t("web, cli, schedule, artifact, tracked")],
  ["trigger", t("name of the trigger")],
  ["error", t("text of the error")],
  ["owner", t("who started it, owner:me")],
  ["label", t("label:team=ml, or label:team")],
  ["cluster", t("cluster of the first action")],
  ["queue", t("queue of the first action")],
  ["is", t("paused, active, ended")],
  ["created", t("created>24h, created:2026-01-31")],
  ["started", "started>24h"],
  ["ended", "ended>24h"],
  ["updated", "updated>24h"],
  ["duration", "duration>5m"],
  ["since", t("created after: since:24h")],
  ["until", t("created before")],
  ["input", t("an input: input:shard=7, or shard:7")],
  ["run", ""],
  ["by", ""],
];

export const keyNames: readonly string[] = keys.map(([key]) => key);

export const synonyms: ReadonlyMap<string, string> = new Map([
  ["run", "name"],
  ["status", "phase"],
  ["by", "owner"],
  ["inputs", "input"],
]);

export const phaseKeys: readonly string[] = [
  "queued",
  "waiting",
  "initializing",
  "running",
  "paused",
  "succeeded",
  "recovered",
  "failed",
  "timed-out",
  "aborted",
];

export const sourceKeys: readonly string[] = ["web", "cli", "schedule", "artifact", "tracked"];

export const stateKeys: readonly string[] = ["paused", "active", "ended"];
