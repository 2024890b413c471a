import { InputKind, type InputText } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import type { RunModel } from "@/entities/run/model/run-model";

/** What tells an action apart from its siblings. */
export interface Identity {
  /** The name of its task, trace or condition. */
  readonly title: string;
  /** The position among its siblings, as "#7", if no input tells them apart; else empty. It is the order of recording, not the index of a map. */
  readonly place: string;
  /** The inputs in which they differ, as "emea, depth 10"; empty if they are equal or not known. */
  readonly inputs: string;
}

/** The number of inputs in an identity. */
const maxInputs = 3;
/** The number of characters of a value. */
const maxValue = 28;

/** The identity of an action among its siblings: those of the same parent, group and task. */
export function identityOf(model: RunModel, row: number): Identity {
  const title = model.title(row);
  if (model.siblings.count(row) < 2) return { title, place: "", inputs: "" };
  const inputs = wordsOf(model.inputs.differing(row));
  return { title, place: inputs === "" ? `#${model.siblings.place(row)}` : "", inputs };
}

/** The identity as one text: "score_customers · emea, depth 10". */
export function nameOf(model: RunModel, row: number): string {
  const distinction = distinctionOf(model, row);
  return distinction === "" ? model.title(row) : `${model.title(row)} ${distinction}`;
}

/** The identity without the title: "· emea, depth 10", or "#7"; empty for an action without siblings. */
export function distinctionOf(model: RunModel, row: number): string {
  const { place, inputs } = identityOf(model, row);
  return inputs === "" ? place : `· ${inputs}`;
}

function wordsOf(inputs: readonly InputText[]): string {
  const shown = inputs.slice(0, maxInputs);
  // One text is clear without its name. Numbers, and several values, need theirs.
  const texts = shown.filter(isWord).length;
  return shown.map((input) => (isWord(input) && texts === 1 ? short(input.value) : `${input.name} ${short(input.value) || '""'}`)).join(", ");
}

const isWord = ({ kind, value }: InputText): boolean => value !== "" && (kind === InputKind.TEXT || kind === InputKind.STORED);

/** Keeps the beginning and more of the end, where paths differ. */
function short(value: string): string {
  const characters = Array.from(value); // code points: the server cut the value between them too
  if (characters.length <= maxValue) return value;
  const head = Math.floor(maxValue / 3);
  return `${characters.slice(0, head).join("")}…${characters.slice(characters.length - (maxValue - head - 1)).join("")}`;
}
