import { t } from "@/texts/texts";
import { QueryProblem, type Node, type Term } from "./node";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
/** The longest duration that is understood. */
const longest = 20 * 365 * 86_400_000;

/** The milliseconds of 90s, 1h30m or 2d; undefined for anything else. */
export function lengthOf(text: string): number | undefined {
  if (!/^(\d{1,9}(ms|s|m|h|d|w))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, digits, unit] of text.matchAll(/(\d+)(ms|s|m|h|d|w)/g)) sum += Number(digits) * (units[unit ?? ""] ?? 0);
  return sum > longest ? undefined : sum;
}

/** Reads a time without a zone as UTC. */
function dateOf(text: string): { readonly at: Date; readonly isDay: boolean } | undefined {
  const [, day = "", time, zone] = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
  if (day === "") return undefined;
  const start = new Date(`${day}T00:00:00Z`);
  // Date takes the 30th of February for the 2nd of March.
  if (Number.isNaN(start.getTime()) || !start.toISOString().startsWith(day)) return undefined;
  const at = time === undefined ? start : new Date(`${day}T${time}${zone ?? "Z"}`);
  return Number.isNaN(at.getTime()) ? undefined : { at, isDay: time === undefined };
}

/** Reads the time of a term. After a colon, a day is that whole day in UTC, and a duration is since then. */
export function timeOf(term: Term): Node {
  const has = term.op === ":" || term.op === "=";
  const ago = lengthOf(term.text.toLowerCase());
  if (ago !== undefined) return { kind: "term", term: { ...term, op: has ? ">=" : term.op, moment: { ago } } };
  const date = dateOf(term.text);
  if (!date) throw new QueryProblem(term.at, term.word, t('"{text}" is not a time. Write 24h for 24 hours ago, or 2026-01-31, or 2026-01-31T10:00Z.', { text: term.text }));
  if (!has) return { kind: "term", term: { ...term, moment: { at: date.at } } };
  if (!date.isDay) throw new QueryProblem(term.at, term.word, t("A time is compared by > or <, such as {key}>{text}.", { key: term.key, text: term.text }));
  const next = new Date(date.at.getTime() + 86_400_000);
  return {
    kind: "and",
    nodes: [
      { kind: "term", term: { ...term, op: ">=", moment: { at: date.at } } },
      { kind: "term", term: { ...term, op: "<", moment: { at: next } } },
    ],
  };
}
