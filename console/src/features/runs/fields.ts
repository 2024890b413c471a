import { cut, replaced } from "@/entities/run/query/edit";
import { quoted } from "@/entities/run/query/quoted";
import type { Term } from "@/entities/run/query/node";

/** The filters of the dialog, as text. */
export interface Fields {
  readonly task: string;
  readonly name: string;
  readonly error: string;
  readonly owner: string;
  readonly cluster: string;
  readonly phases: readonly string[];
  readonly sources: readonly string[];
  readonly labels: readonly string[];
  /** Longer than this, such as 5m. */
  readonly longer: string;
  readonly since: string;
  readonly until: string;
  readonly paused: boolean;
}

/** The field of a condition that the dialog can show; undefined for others, which it leaves as they are. */
function fieldOf({ key, op, values, length, moment }: Term): keyof Fields | undefined {
  switch (key) {
    case "task":
    case "name":
    case "error":
    case "owner":
    case "cluster":
      return key;
    case "phase":
      return "phases";
    case "source":
      return "sources";
    case "label":
      return "labels";
    case "duration":
      return op === ">" && length !== undefined ? "longer" : undefined;
    case "created":
      if (!moment) return undefined;
      return op === ">=" ? "since" : op === "<" ? "until" : undefined;
    case "is":
      return values?.join() === "paused" ? "paused" : undefined;
    default:
      return undefined;
  }
}

const valueOf = ({ key, op, text, name, values }: Term): string =>
  key === "label" ? (op === "?" ? (name ?? "") : `${name ?? ""}=${text}`) : key === "task" || key === "name" ? `${op === "=" ? "=" : ""}${text}` : (values?.join(",") ?? text);

/** The filters that a query has. Of a field with several conditions it is the first. */
export function fieldsOf(query: string): Fields {
  const terms = (cut(query) ?? []).flatMap(({ term }) => (term ? [term] : []));
  const all = (field: keyof Fields) => terms.filter((term) => fieldOf(term) === field);
  const one = (field: keyof Fields) => all(field).slice(0, 1).map(valueOf).join();
  const list = (field: keyof Fields) => one(field).split(",").filter(Boolean);
  return {
    task: one("task"),
    name: one("name"),
    error: one("error"),
    owner: one("owner"),
    cluster: one("cluster"),
    phases: list("phases"),
    sources: list("sources"),
    labels: all("labels").map(valueOf),
    longer: one("longer"),
    since: one("since"),
    until: one("until"),
    paused: all("paused").length > 0,
  };
}

/** A query with other filters. What the dialog cannot show stays. */
export function withFields(query: string, fields: Fields): string {
  const before = fieldsOf(query);
  const seen = new Set<string>();
  // Of a field with several conditions only the first is shown, so the others stay.
  const isOld = (term: Term): boolean => {
    const field = fieldOf(term);
    if (field === undefined || (field !== "labels" && seen.has(field))) return false;
    seen.add(field);
    return true;
  };
  const term = (key: string, value: string) => (value.trim() === "" ? [] : [`${key}:${quoted(value.trim())}`]);
  const text = (key: string, value: string) => (value.startsWith("=") ? [`${key}=${quoted(value.slice(1).trim())}`] : term(key, value));
  const next = [
    ...term("phase", fields.phases.join(",")),
    ...text("task", fields.task.trim()),
    ...text("name", fields.name.trim()),
    ...term("error", fields.error),
    ...(fields.longer.trim() === "" ? [] : [`duration>${fields.longer.trim()}`]),
    ...term("source", fields.sources.join(",")),
    ...term("owner", fields.owner),
    ...term("cluster", fields.cluster),
    ...fields.labels.flatMap((label) => term("label", label)),
    ...term("since", fields.since),
    ...term("until", fields.until),
    ...(fields.paused ? ["is:paused"] : []),
  ];
  return JSON.stringify(before) === JSON.stringify(fields) ? query : replaced(query, isOld, next);
}
