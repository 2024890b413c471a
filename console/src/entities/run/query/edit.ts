import { partsOf, type Node, type Term } from "./node";
import { tryQuery } from "./parse";
import { isJoint, scan } from "./scan";

/** A part of a query that must hold, as text. */
export interface Part {
  readonly text: string;
  /** What it says, if it is one condition that is not negated. */
  readonly term: Term | undefined;
}

/** The parts that must all hold; undefined if the query is wrong, or if only one of its parts must hold. */
export function cut(query: string): readonly Part[] | undefined {
  const answer = tryQuery(query);
  if ("problem" in answer || answer.node.kind === "or") return undefined;
  const runes = Array.from(query);
  const texts: string[] = [];
  let depth = 0;
  let start: number | undefined;
  for (const word of scan(query)) {
    if (depth === 0 && start === undefined && isJoint(word, "and")) continue;
    start ??= word.start;
    if (word.mark === "(") depth++;
    if (word.mark === ")") depth--;
    if (depth > 0 || word.mark === "-" || isJoint(word, "not")) continue;
    texts.push(runes.slice(start, word.end).join(""));
    start = undefined;
  }
  return texts.map((text) => ({ text, term: termIn(text) }));
}

function termIn(text: string): Term | undefined {
  const answer = tryQuery(text);
  return "node" in answer && answer.node.kind === "term" && !text.startsWith("(") ? answer.node.term : undefined;
}

/** A query that also takes a condition. */
export function also(query: string, condition: string): string {
  const text = query.trim();
  if (text === "") return condition;
  return `${cut(text) ? text : `(${text})`} ${condition}`;
}

/** A query with other conditions in place of those that are one condition and of a kind. */
export function replaced(query: string, isOld: (term: Term) => boolean, conditions: readonly string[]): string {
  const parts = cut(query);
  const kept = parts ? parts.filter(({ term }) => !term || !isOld(term)).map(({ text }) => text) : query.trim() === "" ? [] : [`(${query.trim()})`];
  return [...kept, ...conditions].join(" ");
}

/** The alternatives of a key that a query takes, such as its phases; empty if it takes all. */
export function valuesOf(node: Node, key: string): readonly string[] {
  return partsOf(node).flatMap((part) => (part.kind === "term" && part.term.key === key ? (part.term.values ?? []) : []));
}

/** Adds an alternative of a key, or takes it away. */
export function toggled(query: string, key: string, value: string): string {
  const answer = tryQuery(query);
  const values = new Set("node" in answer ? valuesOf(answer.node, key) : []);
  if (!values.delete(value)) values.add(value);
  return replaced(query, (term) => term.key === key, values.size > 0 ? [`${key}:${[...values].join(",")}`] : []);
}
