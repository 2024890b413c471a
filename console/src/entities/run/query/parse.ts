import { t } from "@/texts/texts";
import { partsOf, QueryProblem, type Node, type Term } from "./node";
import { isJoint, scan, type Word } from "./scan";
import { termOf } from "./term";

/** Bounds of a query. */
export const maxLength = 1000;
const maxTerms = 30;
const maxDepth = 8;

/**
 * Parses a query, such as "phase:failed error:KeyError duration>5m -label:team=ml or owner:me", as runs/query of the server does.
 * It throws a QueryProblem.
 */
export function parseQuery(query: string): Node {
  const length = Array.from(query).length;
  if (query.includes("\0")) throw new QueryProblem(1, "", t("A query must be UTF-8 text without NUL."));
  if (length > maxLength) throw new QueryProblem(maxLength, "", t("A query may have {maxLength} characters; this has {length}.", { maxLength, length }));
  const words = scan(query);
  if (words.length === 0) return { kind: "and", nodes: [] };
  const parser = new Parser(words, length + 1);
  const node = parser.alternatives(0);
  const rest = parser.peek();
  if (rest) throw new QueryProblem(rest.start + 1, rest.raw, t("There is no ( that this closes."));
  checkInputs(node);
  return node;
}

/** The query, or what is wrong with it. */
export function tryQuery(query: string): { readonly node: Node } | { readonly problem: QueryProblem } {
  try {
    return { node: parseQuery(query) };
  } catch (error) {
    if (error instanceof QueryProblem) return { problem: error };
    throw error;
  }
}

class Parser {
  private at = 0;
  private terms = 0;

  constructor(
    private readonly words: readonly Word[],
    private readonly end: number,
  ) {}

  peek(): Word | undefined {
    return this.words[this.at];
  }

  alternatives(depth: number): Node {
    const nodes: Node[] = [];
    for (;;) {
      nodes.push(this.conjunction(depth));
      const word = this.peek();
      if (!word || !isJoint(word, "or")) return joined("or", nodes);
      this.at++;
    }
  }

  private conjunction(depth: number): Node {
    const nodes: Node[] = [];
    for (;;) {
      nodes.push(...partsOf(this.negation(depth)));
      const word = this.peek();
      if (!word || isJoint(word, "or") || word.mark === ")") return joined("and", nodes);
      if (isJoint(word, "and")) this.at++;
    }
  }

  private negation(depth: number): Node {
    const word = this.peek();
    if (!word) throw new QueryProblem(this.end, "", t("Something is missing at the end."));
    const at = word.start + 1;
    const negates = word.mark === "-" || isJoint(word, "not");
    if (negates || word.mark === "(") {
      if (depth === maxDepth) throw new QueryProblem(at, word.raw, t("At most {maxDepth} levels are allowed.", { maxDepth }));
      this.at++;
      if (negates) return { kind: "not", nodes: [this.negation(depth + 1)] };
      const node = this.alternatives(depth + 1);
      if (!this.peek()) throw new QueryProblem(at, word.raw, t("The ) that closes this is missing."));
      this.at++;
      return node;
    }
    if (word.mark === ")" || isJoint(word, "and") || isJoint(word, "or"))
      throw new QueryProblem(at, word.raw, t("Something is missing before this. Put quotation marks around a word that is meant itself."));
    this.at++;
    if (++this.terms > maxTerms) throw new QueryProblem(at, word.raw, t("A query may have {maxTerms} conditions.", { maxTerms }));
    return termOf(word);
  }
}

function joined(kind: "and" | "or", nodes: readonly Node[]): Node {
  const [first, ...more] = nodes;
  return first && more.length === 0 ? first : { kind, nodes };
}

/** Refuses conditions on inputs that cannot be looked at after all others. */
function checkInputs(node: Node): void {
  for (const part of partsOf(node)) {
    if (part.kind === "term" || (part.kind === "not" && part.nodes[0]?.kind === "term")) continue;
    const term = inputOf(part);
    if (term) throw new QueryProblem(term.at, term.word, t("A condition on an input cannot be within or or parentheses."));
  }
}

function inputOf(node: Node): Term | undefined {
  if (node.kind === "term") return node.term.key === "input" ? node.term : undefined;
  for (const part of node.nodes) {
    const term = inputOf(part);
    if (term) return term;
  }
  return undefined;
}
