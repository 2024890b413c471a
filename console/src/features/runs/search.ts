import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { phaseOfKey } from "@/design/phases";

/** The orders that the server can page through. */
export const sorts = ["newest", "oldest", "updated", "longest", "shortest"] as const;
export type Sort = (typeof sorts)[number];

/** The URL parameters of the runs page: filters, combined with AND, and the order. */
export interface RunsSearch {
  /** Only in these phases, by key and with commas. */
  readonly phases?: string;
  /** Only runs whose name or task name contains this. */
  readonly text?: string;
  /** Only tasks whose name contains this; with the prefix =, only the task with this name. */
  readonly task?: string;
  /** Only runs started by this user ID. */
  readonly owner?: string;
  /** Only with these labels: "key=value", or "key" for any value. */
  readonly labels?: readonly string[];
  /** Only from these sources, by key and with commas. */
  readonly source?: string;
  /** Only created since then: "90m", "24h", "7d", "2w", or a moment in ISO 8601. */
  readonly since?: string;
  /** Only created before then, a moment in ISO 8601. */
  readonly until?: string;
  /** Only runs whose first action is in this cluster. */
  readonly cluster?: string;
  /** Only runs with a pending approval. */
  readonly paused?: true;
  /** Only runs of the trigger with this name; within the page, "" means runs without a trigger. */
  readonly trigger?: string;
  /** Whether runs of one trigger are listed one by one. */
  readonly unfold?: true;
  /** Only runs whose name contains this. */
  readonly q?: string;
  /** Newest first when unset. */
  readonly sort?: Exclude<Sort, "newest">;
}

/** The sources of runs, with their URL keys and labels. */
export const sources: readonly (readonly [key: string, source: RunSource, label: string])[] = [
  ["web", RunSource.WEB, "Console"],
  ["cli", RunSource.CLI, "CLI or SDK"],
  ["schedule", RunSource.SCHEDULE_TRIGGER, "Schedule"],
  ["artifact", RunSource.ARTIFACT_TRIGGER, "Artifact"],
  ["tracked", RunSource.TRACKED, "Tracked"],
];

/** Parses the parameters and drops unknown ones. */
export function RunsSearch(search: Record<string, unknown>): RunsSearch {
  const phases = keys(search["phases"], (key) => phaseOfKey(key) !== undefined);
  const source = keys(search["source"], (key) => sources.some(([known]) => known === key));
  const labels = texts(search["labels"]).filter((label) => label.replace(/=.*$/s, "") !== "");
  const since = textOf(search["since"]);
  const until = textOf(search["until"]);
  const sort = sorts.find((known) => known === search["sort"]);
  return {
    ...(phases && { phases }),
    ...text(search, "text"),
    ...text(search, "task"),
    ...text(search, "owner"),
    ...(labels.length > 0 && { labels: [...new Set(labels)] }),
    ...(source && { source }),
    ...(since && (agoOf(since) !== undefined || isMoment(since)) && { since }),
    ...(until && isMoment(until) && { until }),
    ...text(search, "cluster"),
    ...((search["paused"] === true || search["paused"] === "true") && { paused: true }),
    ...text(search, "trigger"),
    ...((search["unfold"] === true || search["unfold"] === "true") && { unfold: true }),
    ...text(search, "q"),
    ...(sort && sort !== "newest" && { sort }),
  };
}

/** Only ISO dates: Date.parse accepts far more. */
const isMoment = (text: string): boolean => /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text));

const textOf = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value).trim() : "");

const text = <K extends string>(search: Record<string, unknown>, key: K): Partial<Record<K, string>> => {
  const value = textOf(search[key]);
  return value === "" ? {} : ({ [key]: value } as Record<K, string>);
};

const texts = (value: unknown): string[] => (Array.isArray(value) ? value : [value]).map(textOf).filter(Boolean);

const keys = (value: unknown, known: (key: string) => boolean): string =>
  [...new Set(textOf(value).split(","))].filter(known).join(",");

const steps: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The milliseconds of "90m", "24h", "7d" or "2w"; undefined for anything else. */
export function agoOf(since: string): number | undefined {
  const [, digits = "", unit = ""] = /^(\d{1,5})([mhdw])$/.exec(since) ?? [];
  const step = steps[unit];
  return step === undefined ? undefined : Number(digits) * step;
}

/** The start time of a search, rounded to the minute so that the request stays the same. */
export function sinceOf({ since }: RunsSearch, now: number): Date | undefined {
  if (since === undefined) return undefined;
  const ago = agoOf(since);
  return new Date(ago === undefined ? Date.parse(since) : Math.floor((now - ago) / 60_000) * 60_000);
}

export const phasesOf = ({ phases }: RunsSearch): readonly ActionPhase[] =>
  (phases?.split(",") ?? []).map(phaseOfKey).filter((phase) => phase !== undefined);

export const sourcesOf = ({ source }: RunsSearch): readonly RunSource[] =>
  (source?.split(",") ?? []).flatMap((key) => sources.filter(([known]) => known === key).map(([, value]) => value));

/** The key and value of a label; the value is undefined if any will do. */
export function labelOf(label: string): readonly [key: string, value: string | undefined] {
  const at = label.indexOf("=");
  return at < 0 ? [label, undefined] : [label.slice(0, at), label.slice(at + 1)];
}

/** Whether the search has filters. */
export const isFiltered = (search: RunsSearch): boolean => Object.keys(search).some((key) => key !== "sort" && key !== "unfold");

/** Changes to a search; undefined, "" and empty lists remove a filter. */
export type SearchPatch = { readonly [K in keyof RunsSearch]?: RunsSearch[K] | undefined };

export function patched(search: RunsSearch, patch: SearchPatch): RunsSearch {
  return RunsSearch({ ...search, ...patch });
}

/** Adds a key to a comma separated list, or removes it. */
export function toggled(list: string | undefined, key: string): string | undefined {
  const all = new Set(list?.split(",") ?? []);
  if (!all.delete(key)) all.add(key);
  return [...all].join(",") || undefined;
}
