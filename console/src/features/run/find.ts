import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { isFailure, phaseOfKey } from "@/design/phases";
import { none, type RunModel } from "./model/run-model";

/** What is looked for among the actions of a run. */
export interface Wanted {
  /** In the title, the name or the group; empty for all. */
  readonly text: string;
  /** Any of these; empty for all. */
  readonly phases: ReadonlySet<ActionPhase>;
}

export interface Found {
  /** How many actions are what is looked for. */
  readonly count: number;
  /** Whether the action is to be seen: it is looked for, or leads to one that is. */
  readonly shown: (row: number) => boolean;
  /** Whether it is looked for itself. */
  readonly matches: (row: number) => boolean;
}



/** Reads what the address says. */
export function wantedOf(search: { readonly q?: string; readonly phases?: string }): Wanted {
  const phases = (search.phases ?? "").split(",").map(phaseOfKey);
  return { text: (search.q ?? "").trim().toLowerCase(), phases: new Set(phases.filter((phase) => phase !== undefined)) };
}

/** Finds actions by text and phase; undefined when everything is wanted. */
export function find(model: RunModel, wanted: Wanted): Found | undefined {
  if (wanted.text === "" && wanted.phases.size === 0) return undefined;
  const marks = new Uint8Array(model.size);
  let count = 0;
  for (let row = model.size - 1; row >= 0; row--) {
    if (hits(model, row, wanted)) {
      marks[row] = 2;
      count++;
    }
    const parent = model.parent(row);
    if (marks[row] !== 0 && parent !== none && marks[parent] === 0) marks[parent] = 1;
  }
  // Rows that came later are seen with the next look.
  return { count, shown: (row) => (marks[row] ?? 0) > 0, matches: (row) => marks[row] === 2 };
}

function hits(model: RunModel, row: number, { text, phases }: Wanted): boolean {
  if (phases.size > 0 && !phases.has(model.phase(row))) return false;
  return text === "" || [model.title(row), model.name(row), model.group(row)].some((words) => words.toLowerCase().includes(text));
}

/** The action that failed first of those that no failed child explains: where to look. */
export function firstFailure(model: RunModel): number {
  let first = none;
  const explained = new Uint8Array(model.size);
  for (let row = model.size - 1; row >= 0; row--) {
    if (!isFailure(model.phase(row))) continue;
    const parent = model.parent(row);
    if (parent !== none) explained[parent] = 1;
    if (explained[row] === 0 && (first === none || model.ended(row) <= model.ended(first))) first = row;
  }
  return first;
}
