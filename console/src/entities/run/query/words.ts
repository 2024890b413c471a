/** The words before a colon, in the order of the server, with what they are for; synonyms have no words of their own. */
export const keys: readonly (readonly [key: string, about: string])[] = [
  ["name", "part of the run's name, name= exactly"],
  ["task", "part of the task's name, task= exactly"],
  ["version", "version of the task"],
  ["phase", "failed, running, succeeded …"],
  ["status", ""],
  ["source", "web, cli, schedule, artifact, tracked"],
  ["trigger", "name of the trigger"],
  ["error", "text of the error"],
  ["owner", "who started it, owner:me"],
  ["label", "label:team=ml, or label:team"],
  ["cluster", "cluster of the first action"],
  ["queue", "queue of the first action"],
  ["is", "paused, active, ended"],
  ["created", "created>24h, created:2026-01-31"],
  ["started", "started>24h"],
  ["ended", "ended>24h"],
  ["updated", "updated>24h"],
  ["duration", "duration>5m"],
  ["since", "created after: since:24h"],
  ["until", "created before"],
  ["input", "an input: input:shard=7, or shard:7"],
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
