import { quoted } from "./quoted";
import { lengthOf } from "./moment";
import { phaseKeys, sourceKeys } from "./words";

/**
 * The query of an address or a view from before there were queries: each filter was a parameter. Filters that were not understood are
 * left out.
 */
export function queryOfOld(search: Record<string, unknown>): string {
  const text = (key: string): string => {
    const value = search[key];
    return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  };
  const some = (key: string, known: readonly string[]) => [...new Set(text(key).split(","))].filter((value) => known.includes(value)).join(",");
  const term = (key: string, value: string) => (value === "" ? [] : [`${key}:${quoted(value)}`]);
  const moment = (value: string) => (lengthOf(value) !== undefined || /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(value) ? value : "");
  const labels = (Array.isArray(search["labels"]) ? search["labels"] : [search["labels"]]).filter((label): label is string => typeof label === "string");
  const task = text("task");
  return [
    ...term("phase", some("phases", phaseKeys)),
    ...(text("text") === "" ? [] : [quoted(text("text"))]),
    ...(task.startsWith("=") && task.length > 1 ? [`task=${quoted(task.slice(1))}`] : term("task", task)),
    ...term("name", text("q")),
    ...term("owner", text("owner")),
    ...[...new Set(labels)].filter((label) => !/^(=|$)/.test(label)).map((label) => `label:${quoted(label)}`),
    ...term("source", some("source", sourceKeys)),
    ...term("trigger", text("trigger")),
    ...term("cluster", text("cluster")),
    ...term("since", moment(text("since"))),
    ...term("until", moment(text("until"))),
    ...(text("paused") === "true" || search["paused"] === true ? ["is:paused"] : []),
  ].join(" ");
}
