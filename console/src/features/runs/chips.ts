import { lookOf, phaseOfKey } from "@/design/phases";
import { agoOf, labelOf, patched, sources, toggled, type RunsSearch } from "./search";

/** The text of a filter, and the search without it. */
export interface Chip {
  readonly key: string;
  readonly text: string;
  readonly without: RunsSearch;
}

const spans: Readonly<Record<string, string>> = { m: "minute", h: "hour", d: "day", w: "week" };

/** "last 24 hours", or "since" with a time. */
export function sinceText(since: string, moment: (at: Date) => string): string {
  if (agoOf(since) === undefined) return `since ${moment(new Date(since))}`;
  const n = Number(since.slice(0, -1));
  const unit = spans[since.slice(-1)] ?? "";
  return n === 1 ? `last ${unit}` : `last ${n} ${unit}s`;
}

const labelText = (label: string): string => {
  const [key, value] = labelOf(label);
  return value === undefined ? `has label ${key}` : `${key} = ${value}`;
};

/** The chips of a search, one per filter. */
export function chipsOf(search: RunsSearch, moment: (at: Date) => string): readonly Chip[] {
  const chips: Chip[] = [];
  const add = (key: string, text: string, patch: Parameters<typeof patched>[1]) => chips.push({ key, text, without: patched(search, patch) });
  for (const key of search.phases?.split(",") ?? []) {
    const phase = phaseOfKey(key);
    if (phase !== undefined) add(`phase:${key}`, lookOf(phase).label, { phases: toggled(search.phases, key) });
  }
  if (search.text !== undefined) add("text", `contains “${search.text}”`, { text: undefined });
  if (search.task !== undefined)
    add("task", search.task.startsWith("=") ? `task ${search.task.slice(1)}` : `task contains “${search.task}”`, { task: undefined });
  if (search.q !== undefined) add("q", `name contains “${search.q}”`, { q: undefined });
  if (search.owner !== undefined) add("owner", `owner: ${search.owner}`, { owner: undefined });
  for (const label of search.labels ?? []) add(`label:${label}`, labelText(label), { labels: search.labels?.filter((each) => each !== label) });
  for (const key of search.source?.split(",") ?? [])
    add(`source:${key}`, `source: ${sources.find(([known]) => known === key)?.[2] ?? key}`, { source: toggled(search.source, key) });
  if (search.cluster !== undefined) add("cluster", `cluster: ${search.cluster}`, { cluster: undefined });
  if (search.trigger !== undefined) add("trigger", `trigger: ${search.trigger}`, { trigger: undefined });
  if (search.since !== undefined) add("since", sinceText(search.since, moment), { since: undefined });
  if (search.until !== undefined) add("until", `before ${moment(new Date(search.until))}`, { until: undefined });
  if (search.paused) add("paused", "waiting for approval", { paused: undefined });
  return chips;
}
