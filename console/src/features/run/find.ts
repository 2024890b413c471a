import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { isFailure, phaseOfKey } from "@/design/phases";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { matchesTerm, termsOf, type Term } from "@/entities/action/terms";

/** The filter of the actions of a run. */
export interface ActionFilter {
  /** All of these, in the identity, the name, the group or the inputs; empty for all. */
  readonly terms: readonly Term[];
  /** Any of these; empty for all. */
  readonly phases: ReadonlySet<ActionPhase>;
}

export interface Found {
  /** The number of matching actions. */
  readonly count: number;
  /** Whether the action matches, or has a descendant that does. */
  readonly shown: (row: number) => boolean;
  /** Whether the action itself matches. */
  readonly matches: (row: number) => boolean;
}

/** The filter of the URL parameters. */
export function filterOf(search: { readonly q?: string; readonly phases?: string }): ActionFilter {
  const phases = (search.phases ?? "").split(",").map(phaseOfKey);
  return { terms: termsOf(search.q ?? ""), phases: new Set(phases.filter((phase) => phase !== undefined)) };
}

/** Finds actions by text and phase; undefined without a filter. */
export function find(model: RunModel, filter: ActionFilter): Found | undefined {
  if (filter.terms.length === 0 && filter.phases.size === 0) return undefined;
  const marks = new Uint8Array(model.size);
  let count = 0;
  for (let row = model.size - 1; row >= 0; row--) {
    if (matches(model, row, filter)) {
      marks[row] = 2;
      count++;
    }
    const parent = model.parent(row);
    if (marks[row] !== 0 && parent !== none && marks[parent] === 0) marks[parent] = 1;
  }
  // Rows that are added later are found by the next call.
  return { count, shown: (row) => (marks[row] ?? 0) > 0, matches: (row) => marks[row] === 2 };
}

function matches(model: RunModel, row: number, { terms, phases }: ActionFilter): boolean {
  if (phases.size > 0 && !phases.has(model.phase(row))) return false;
  return terms.every((term) => matchesTerm(model, row, term));
}

/** The first action that failed without a failed child, which is the likely cause. */
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
