import { t } from "@/texts/texts";
import { lengthOf, timeOf } from "./moment";
import { nearest } from "./nearest";
import { QueryProblem, type Node, type Op, type Term } from "./node";
import { textOf, type Char, type Word } from "./scan";
import { keyNames, phaseKeys, sourceKeys, stateKeys, synonyms } from "./words";

type Draft = { -readonly [K in keyof Term]: Term[K] };

const leaf = (term: Term): Node => ({ kind: "term", term });

const refuse = ({ at, word }: Term, message: string, near = ""): never => {
  throw new QueryProblem(at, word, message, near);
};

/** Reads a word as a condition. */
export function termOf(word: Word): Node {
  const found = operator(word.chars);
  const at = word.start + 1;
  if (!found) return leaf({ key: "text", op: ":", text: textOf(word.chars), at, word: word.raw });
  const [cut, size, op] = found;
  const key = textOf(word.chars.slice(0, cut));
  const value = word.chars.slice(cut + size);
  const lower = key.toLowerCase();
  const term: Draft = { key: lower, op, text: textOf(value), at, word: word.raw };
  if (lower === "since" || lower === "until") {
    if (op !== ":" && op !== "=") refuse(term, t("Write {lower}:24h or {lower}:2026-01-31.", { lower }));
    term.key = "created";
    term.op = lower === "since" ? ">=" : "<";
  } else if (synonyms.has(lower)) {
    term.key = synonyms.get(lower) ?? lower;
  } else if (!keyNames.includes(lower)) {
    const near = nearest(lower, keyNames);
    if (near !== "") refuse(term, t('There is no key "{key}". For an input of that name, write input:{text}.', { key, text: textOf(word.chars) }), near);
    term.key = "input";
    term.name = key;
  }
  if (term.text === "") refuse(term, t("A value is missing after {text}.", { text: textOf(word.chars.slice(0, cut + size)) }));
  return finish(term, value);
}

/** Finds the first comparison after a key: its position, its length and what it is. */
export function operator(chars: readonly Char[]): readonly [cut: number, size: number, op: Op] | undefined {
  for (const [i, { r, quoted }] of chars.entries()) {
    if (quoted) return undefined;
    if (i > 0 && ":=<>".includes(r)) {
      const next = chars[i + 1];
      return (r === "<" || r === ">") && next?.r === "=" && !next.quoted ? [i, 2, `${r}=`] : [i, 1, r as Op];
    }
    if (!/^[\p{L}_]$/u.test(r) && !(i > 0 && /^[\p{Nd}.]$/u.test(r))) return undefined;
  }
  return undefined;
}

function finish(term: Draft, value: readonly Char[]): Node {
  switch (term.key) {
    case "name":
    case "task":
      if (term.op === ":" && term.text.length > 1 && term.text.startsWith("=")) {
        term.op = "=";
        term.text = term.text.slice(1);
      }
      return checked(term, [":", "="]);
    case "error":
      return checked(term, [":"]);
    case "phase":
      return oneOf(term, "phase", phaseKeys);
    case "source":
      return oneOf(term, "source", sourceKeys);
    case "is":
      return oneOf(term, "state", stateKeys);
    case "version":
    case "trigger":
    case "owner":
    case "cluster":
    case "queue":
      return several(term, split(term.text));
    case "label":
      return labelTerm(term, value);
    case "input":
      return inputTerm(term, value);
    case "duration":
      return durationTerm(term);
    default:
      return timeOf(term);
  }
}

function checked(term: Term, ops: readonly Op[]): Node {
  if (!ops.includes(term.op)) refuse(term, t("{key} cannot be compared with {operator}. Write {key}:value.", { key: term.key, operator: term.op }));
  return leaf(term);
}

const split = (text: string): string[] => [...new Set(text.split(",").filter(Boolean))];

function several(term: Term, values: readonly string[]): Node {
  checked(term, [":", "="]);
  if (values.length === 0) refuse(term, t("A value is missing after {key}{operator}.", { key: term.key, operator: term.op }));
  return leaf({ ...term, op: "=", values });
}

function oneOf(term: Term, what: string, known: readonly string[]): Node {
  const values = split(term.text.toLowerCase()).map((value) => value.replaceAll("_", "-"));
  const wrong = values.find((value) => !known.includes(value));
  if (wrong !== undefined) refuse(term, t('There is no {what} "{wrong}". There are {known}.', { what, wrong, known: known.join(", ") }), nearest(wrong, known));
  return several(term, values);
}

function labelTerm(term: Term, value: readonly Char[]): Node {
  checked(term, [":"]);
  const at = value.findIndex(({ r }) => r === "=");
  if (at === 0) refuse(term, t("The key of the label is missing. Write label:team=ml."));
  if (at < 0) return leaf({ ...term, name: term.text, op: "?", text: "" });
  return leaf({ ...term, name: textOf(value.slice(0, at)), op: "=", text: textOf(value.slice(at + 1)) });
}

function inputTerm(term: Term, value: readonly Char[]): Node {
  if (term.name !== undefined) return leaf({ ...term, op: term.op === ":" ? "=" : term.op });
  const found = operator(value);
  if (term.op !== ":" || !found || found[0] + found[1] === value.length) return refuse(term, t("Write input:name=value."));
  const [cut, size, op] = found;
  return leaf({ ...term, name: textOf(value.slice(0, cut)), op: op === ":" ? "=" : op, text: textOf(value.slice(cut + size)) });
}

function durationTerm(term: Term): Node {
  if (term.op === ":" || term.op === "=") refuse(term, t("A duration is compared by > or <, such as duration>5m."));
  const length = lengthOf(term.text.toLowerCase());
  if (length === undefined) return refuse(term, t('"{text}" is not a duration. Write 90s, 5m, 1h30m or 2d.', { text: term.text }));
  return leaf({ ...term, length });
}
