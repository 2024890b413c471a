import { InputKind, type InputText } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import type { RunModel } from "@/entities/run/model/run-model";

/** A word of a filter of actions. */
export interface Term {
  /** In lower case. */
  readonly text: string;
  /** The name and the value of an input, if the word has the form "shard:7". */
  readonly input: readonly [name: string, value: string] | undefined;
}

/** Parses a filter: words, "shard:7", "#7". Quotes keep spaces together. */
export function termsOf(typed: string): readonly Term[] {
  return [...typed.toLowerCase().matchAll(/(?:[^\s"]|"[^"]*"?)+/g)].flatMap(([word]) => {
    const text = word.replaceAll('"', "");
    const colon = text.indexOf(":");
    return text === "" ? [] : [{ text, input: colon > 0 && colon < text.length - 1 ? ([text.slice(0, colon), text.slice(colon + 1)] as const) : undefined }];
  });
}

/** Whether an action has the term in its title, name or group, at its place, or as a value of an input. */
export function matchesTerm(model: RunModel, row: number, { text, input }: Term): boolean {
  if (text.startsWith("#") && text === `#${model.siblings.place(row)}` && model.siblings.count(row) > 1) return true;
  if (has(model.title(row), text) || has(model.name(row), text) || has(model.group(row), text)) return true;
  const inputs = model.inputs.get(row);
  if (inputs === undefined) return false;
  const ofInput = (one: InputText) => input !== undefined && nameMatches(one, input[0]) && valueMatches(one, input[1]);
  return inputs.some((one) => valueMatches(one, text) || ofInput(one));
}

const has = (words: string, text: string): boolean => words.toLowerCase().includes(text);

/** The last part is enough for a field of a structure. */
function nameMatches({ name }: InputText, wanted: string): boolean {
  const known = name.toLowerCase();
  return known === wanted || known.endsWith(`.${wanted}`);
}

/** A part of a text, but the whole of a number: 7 is not in 17. */
function valueMatches({ value, kind }: InputText, wanted: string): boolean {
  const known = value.toLowerCase();
  return kind === InputKind.UNSPECIFIED && !/^[[{]/.test(known) ? known === wanted : known.includes(wanted);
}
