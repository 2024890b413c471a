import { catalogue, language, recognised } from "./language";
import { fill, plurals } from "./texts";

/** What the server says, in the language of the page where the catalogue has it. */
export interface Said {
  readonly text: string;
  /** The language of the text if that is not the page's: free texts and those without a translation are English. */
  readonly lang?: "en";
}

/** A sentence of the server in parts, as its messages have it: flytebinary.insight.v1.Sentence. */
export interface Parts {
  readonly text: string;
  readonly values: readonly string[];
  readonly n?: bigint | undefined;
}

/** The values of a text by the names of their placeholders: {1} is the first. */
const named = (values: readonly string[]) => Object.fromEntries(values.map((value, at) => [String(at + 1), value]));

/** A sentence that is only a placeholder is free text, such as that of a cluster. */
export const isFree = ({ text }: Parts): boolean => text === "{1}";

function translated({ text, values, n }: Parts): string | undefined {
  const forms = catalogue?.[text];
  const own = typeof forms === "object" ? (forms[plurals.select(Number(n ?? 0n))] ?? forms.other) : forms;
  // What another sentence of the server is about may be a sentence, too, such as what a cluster says of a pod.
  const told = values.map((value) => sayMessage(value).text);
  return own === undefined ? undefined : (fill(own, { ...named(told), ...(n === undefined ? {} : { n: String(n) }) }) as string);
}

const english = (text: string): Said => (language === "en" ? { text } : { text, lang: "en" });

/** A sentence by its parts. */
export function sayParts(parts: Parts): Said {
  if (isFree(parts)) return sayMessage(parts.values[0] ?? "");
  const text = translated(parts);
  return text === undefined ? english(fill(parts.text, named(parts.values)) as string) : { text };
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The texts by which messages are known that come without parts, those with the most words of their own first. */
let patterns: readonly ReturnType<typeof patternOf>[] | undefined;

const words = (text: string): number => text.replace(/\{\d+\}/g, "").length;

function patternOf(text: string) {
  const pieces = text.split(/\{(\d+)\}/);
  const of = (value: string) => new RegExp(`^${pieces.map((piece, at) => (at % 2 === 0 ? escaped(piece) : `(${value})`)).join("")}$`, "s");
  return { text, match: of("(?:(?!; ).)+?"), loose: of(".+?"), places: pieces.filter((_, at) => at % 2 === 1) };
}

/** The parts of a message of the contract, which has no room for them; undefined for free texts. Values of one clause have no semicolon. */
export function partsOf(message: string, texts: readonly string[] = recognised, values: "match" | "loose" = "match"): Parts | undefined {
  patterns ??= texts.map(patternOf).sort((a, b) => words(b.text) - words(a.text));
  for (const pattern of patterns) {
    const found = pattern[values].exec(message);
    if (!found) continue;
    const given: string[] = [];
    pattern.places.forEach((place, at) => (given[Number(place) - 1] = found[at + 1] ?? ""));
    return { text: pattern.text, values: given };
  }
  return undefined;
}

const between = "; ";

/** Several clauses in one line, such as why an action runs in a cluster. They are of the page's language if one of them is. */
export function sayClauses(message: string, say: (clause: string) => Said): Said {
  const said = message.split(between).map(say);
  const text = said.map((one) => one.text).join(between);
  return said.some(({ lang }) => lang === undefined) ? { text } : english(text);
}

/** A message of the contract, such as that of an event. */
export function sayMessage(message: string): Said {
  if (language === "en" || message === "") return { text: message };
  const parts = partsOf(message);
  if (parts) return sayParts(parts);
  const whole = partsOf(message, recognised, "loose");
  const clauses = message.includes(between) ? sayClauses(message, sayMessage) : english(message);
  return clauses.lang !== undefined && whole ? sayParts(whole) : clauses;
}

/** The same of a message that the server wrote as a sentence of its own: with a capital letter and a full stop. */
export function saySentence(message: string): Said {
  const said = sayMessage(message);
  if (said.lang === undefined) return said;
  const clause = sayMessage(`${message.charAt(0).toLowerCase()}${message.slice(1).replace(/\.$/, "")}`);
  return clause.lang === undefined ? { text: asSentence(clause.text) } : said;
}

/** A text as a sentence of its own: with a capital letter and a full stop. */
export const asSentence = (text: string): string => (text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`);
