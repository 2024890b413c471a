import type { Activity, ActivityBucket } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { t, tn } from "@/texts/texts";

/** The layers of a bar from the bottom up, with their colors. */
export const layers: readonly (readonly [key: "succeeded" | "unfinished" | "aborted" | "failed", colour: string, word: string])[] = [
  ["succeeded", "--phase-succeeded", "succeeded"],
  ["unfinished", "--phase-running", "active"],
  ["aborted", "--phase-aborted", "aborted"],
  ["failed", "--phase-failed", "failed"],
];

export const sizeOf = (bucket: ActivityBucket): number => layers.reduce((sum, [key]) => sum + bucket[key], 0);

/** The activity as text: "12 runs: 10 succeeded, 2 failed". */
export function inWords(buckets: readonly ActivityBucket[]): string {
  const total = buckets.reduce((sum, bucket) => sum + sizeOf(bucket), 0);
  if (total === 0) return t("no runs");
  const parts = layers.map(([key, , word]) => [buckets.reduce((sum, bucket) => sum + bucket[key], 0), word] as const).filter(([n]) => n > 0);
  return `${tn(total, "{n} run", "{n} runs")}: ${parts.map(([n, word]) => `${n} ${word}`).join(", ")}`;
}

/** Looks up the activity of a domain of a project. */
export function byPlace(activities: readonly Activity[]): (project: string, domain: string) => Activity | undefined {
  const known = new Map(activities.map((activity) => [`${activity.project}/${activity.domain}`, activity]));
  return (project, domain) => known.get(`${project}/${domain}`);
}
