import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import { valueOf } from "@/entities/value/value";
import type { Value } from "@/entities/value/value-type";
import { json } from "@/entities/value/write-json";
import { fixed } from "@/texts/texts";

/** What several runs have of one thing, in their order; empty where a run has none. */
export interface Row {
  readonly name: string;
  readonly values: readonly string[];
  /** Whether all runs have the same. */
  readonly same: boolean;
}

/** Lists of named texts of several runs as rows, in the order in which the names first occur. Rows that are empty in all are left out. */
export function rowsOf(runs: readonly (readonly (readonly [name: string, value: string])[])[]): readonly Row[] {
  const maps = runs.map((run) => new Map(run));
  const names = new Set(runs.flatMap((run) => run.map(([name]) => name)));
  return [...names]
    .map((name) => {
      const values = maps.map((map) => map.get(name) ?? "");
      return { name, values, same: values.every((value) => value === values[0]) };
    })
    .filter(({ values }) => values.some((value) => value !== ""));
}

/** The most characters of a value in a cell. */
const longest = 300;

export const textsOf = (literals: readonly NamedLiteral[] = []): readonly (readonly [string, string])[] =>
  literals.map(({ name, value }) => {
    const text = json(valueOf(value), 0);
    return [name, text.length > longest ? `${text.slice(0, longest)} …` : text] as const;
  });

/** The most numbers that are taken from the outputs of a run, and how deep they are looked for. */
const most = { numbers: 100, depth: 4 };

/** The numbers in the outputs of a run, by their path: "o0.accuracy". */
export function metricsOf(literals: readonly NamedLiteral[] = []): readonly (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  const take = (path: string, value: Value, depth: number) => {
    if (found.length >= most.numbers || depth > most.depth) return;
    if (value.kind === "number") found.push([path, value.digits]);
    if (value.kind === "map") for (const [key, one] of value.entries) take(`${path}.${key}`, one, depth + 1);
    if (value.kind === "list") value.items.slice(0, 10).forEach((one, at) => take(`${path}[${at}]`, one, depth + 1));
  };
  for (const { name, value } of literals) take(name, valueOf(value), 0);
  return found;
}

/** The change of a number against the first run: "+12 %"; empty if there is nothing to compare. */
export function changeWords(first: string, other: string): string {
  const [a, b] = [Number(first), Number(other)];
  if (first === "" || other === "" || !Number.isFinite(a) || !Number.isFinite(b) || a === b || a === 0) return "";
  const percent = ((b - a) / Math.abs(a)) * 100;
  const size = Math.abs(percent);
  return `${percent > 0 ? "+" : "−"}${size < 10 ? fixed(size, 1) : Math.round(size)} %`;
}

/** The letter of a run by its position. */
export const markOf = (at: number): string => String.fromCharCode(65 + at);
