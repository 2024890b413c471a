import { createElement, Fragment, type ReactNode } from "react";
import { kept } from "./kept";
import { catalogue, language } from "./language";

type Words = Readonly<Record<string, string | number>>;
type Parts = Readonly<Record<string, ReactNode>>;

export const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

/** A number as the language writes it. */
export const count = (n: number | bigint): string => numbers.format(n);

/** A number with a fixed number of decimals. */
export const fixed = (n: number, digits: number): string => decimals(digits).format(n);

// A format takes far longer to make than to use, and each line of a tree uses one.
const decimals = kept(
  (digits: number) => new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false }),
);

/** A label inside of a sentence: English writes it with a small letter there. */
export const inSentence = (label: string): string => (language === "en" ? label.toLowerCase() : label);

const written = (part: ReactNode): string => (typeof part === "string" ? part : typeof part === "number" || typeof part === "bigint" ? String(part) : "");

/** A text with its placeholders replaced. */
export function fill(text: string, values: Parts | undefined): ReactNode {
  if (!values) return text;
  // Every second part is the name of a placeholder. Braces without a value are text.
  const parts = text.split(/\{(\w+)\}/).map((part, at) => (at % 2 === 0 ? part : part in values ? values[part] : `{${part}}`));
  return parts.some((part) => typeof part === "object") ? createElement(Fragment, null, ...parts) : parts.map(written).join("");
}

/**
 * A text in the language of the page. The English text is its own key and has placeholders for what differs: t("Retry {name}", { name }).
 * Values may be elements, so that a sentence with a link in it stays one sentence. Text and placeholders are literals: a test collects them.
 */
export function t(text: string, values?: Words): string;
export function t(text: string, values: Parts): ReactNode;
export function t(text: string, values?: Parts): ReactNode {
  const translated = catalogue?.[text];
  return fill(typeof translated === "string" ? translated : text, values);
}

/** A text about a number of things, which is {n} in it: tn(runs, "{n} run", "{n} runs"). Its key is the text of many. */
export function tn(n: number, one: string, other: string, values?: Words): string;
export function tn(n: number, one: string, other: string, values: Parts): ReactNode;
export function tn(n: number, one: string, other: string, values?: Parts): ReactNode {
  const forms = catalogue?.[other];
  const english = n === 1 ? one : other;
  const text = typeof forms === "object" ? (forms[plurals.select(n)] ?? forms.other ?? english) : english;
  return fill(text, { n: count(n), ...values });
}
