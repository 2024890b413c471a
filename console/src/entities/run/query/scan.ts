import { t } from "@/texts/texts";
import { QueryProblem } from "./node";

/** A character, and whether it was within quotes. */
export interface Char {
  readonly r: string;
  readonly quoted: boolean;
}

/** A word of a query, or a parenthesis, or the minus before either. */
export interface Word {
  /** The position of its first character and of that after its last, from 0. */
  readonly start: number;
  readonly end: number;
  readonly raw: string;
  readonly chars: readonly Char[];
  readonly mark: "(" | ")" | "-" | "";
}

export const textOf = (chars: readonly Char[]): string => chars.map(({ r }) => r).join("");

export const isJoint = ({ mark, raw }: Word, joint: string): boolean => mark === "" && raw.toLowerCase() === joint;

const isSpace = (r: string | undefined): boolean => r !== undefined && /\s/u.test(r);

/** Cuts a query into words. Quotes keep spaces and parentheses in a word; within them, a backslash comes before a quote that is meant itself. */
export function scan(query: string): readonly Word[] {
  const runes = Array.from(query);
  const words: Word[] = [];
  for (let i = 0; i < runes.length; ) {
    const r = runes[i] ?? "";
    if (isSpace(r)) {
      i++;
    } else if (r === "(" || r === ")" || (r === "-" && i + 1 < runes.length && !isSpace(runes[i + 1]))) {
      words.push({ start: i, end: ++i, raw: r, chars: [], mark: r });
    } else {
      const word = read(runes, i);
      words.push(word);
      i = word.end;
    }
  }
  return words;
}

function read(runes: readonly string[], start: number): Word {
  const chars: Char[] = [];
  let quoted = false;
  let i = start;
  for (; i < runes.length; i++) {
    let r = runes[i] ?? "";
    if (r === '"') {
      quoted = !quoted;
      continue;
    }
    if (quoted && r === "\\" && (runes[i + 1] === '"' || runes[i + 1] === "\\")) r = runes[++i] ?? "";
    else if (!quoted && (isSpace(r) || r === "(" || r === ")")) break;
    chars.push({ r, quoted });
  }
  const raw = runes.slice(start, i).join("");
  if (quoted) throw new QueryProblem(start + 1, raw, t("A quotation mark is missing."));
  return { start, end: i, raw, chars, mark: "" };
}
