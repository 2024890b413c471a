/** How a term compares. ":" is a part of a text, "?" any value. */
export type Op = ":" | "=" | "<" | "<=" | ">" | ">=" | "?";

/** A time, or a time before now. */
export type Moment = { readonly at: Date } | { readonly ago: number };

/** One condition of a query. */
export interface Term {
  readonly key: string;
  readonly op: Op;
  /** The name of a label or an input. */
  readonly name?: string;
  /** The value, as far as the fields below do not have it. */
  readonly text: string;
  /** The alternatives of keys that take several. */
  readonly values?: readonly string[];
  /** The value of duration, in milliseconds. */
  readonly length?: number;
  readonly moment?: Moment;
  /** The position of the word, from 1, in characters, and the word as typed. */
  readonly at: number;
  readonly word: string;
}

/** A query or a part of one. */
export type Node = { readonly kind: "term"; readonly term: Term } | { readonly kind: "and" | "or" | "not"; readonly nodes: readonly Node[] };

/** The parts that must all hold. */
export const partsOf = (node: Node): readonly Node[] => (node.kind === "and" ? node.nodes : [node]);

/** The form in which runs/query/testdata/cases.json has queries. */
export function formOf(node: Node): string {
  if (node.kind !== "term") return `(${[node.kind, ...node.nodes.map(formOf)].join(" ")})`;
  const { key, name, op, text, values, length, moment } = node.term;
  const start = `${key}${name === undefined ? "" : `[${name}]`}${op}`;
  if (op === "?") return start;
  if (length !== undefined) return `${start}${length / 1000}`;
  if (moment) return `${start}${"ago" in moment ? `ago(${moment.ago / 1000})` : moment.at.toISOString().replace(/\.\d+Z$/, "Z")}`;
  return `${start}${values ? values.join(",") : text}`;
}

/** What is wrong with a query, where, and what was probably meant. */
export class QueryProblem extends Error {
  constructor(
    /** The position of the word, from 1, in characters. */
    readonly at: number,
    readonly word: string,
    message: string,
    readonly nearest = "",
  ) {
    super(message);
  }
}
