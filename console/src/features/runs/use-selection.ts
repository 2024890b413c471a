import { useState } from "react";
import type { Place } from "@/app/place";
import type { RunsSearch } from "./search";

/** What is selected in the list: some runs by name, or all that match. A new search starts with nothing. */
export interface Selection {
  readonly names: ReadonlySet<string>;
  /** Whether all that match are meant, those that are not loaded too. */
  readonly all: boolean;
  /** Selects or deselects runs; base is what was selected before, where it is not names. */
  readonly select: (names: readonly string[], selected: boolean, base?: readonly string[]) => void;
  readonly selectAll: () => void;
  readonly clear: () => void;
}

interface State {
  readonly key: string;
  readonly names: ReadonlySet<string>;
  readonly all: boolean;
}

export function useSelection(place: Place, search: RunsSearch): Selection {
  const key = JSON.stringify([place, { ...search, sort: "" }]);
  const [kept, setState] = useState<State>({ key, names: new Set(), all: false });
  const state = kept.key === key ? kept : { key, names: new Set<string>(), all: false };
  return {
    names: state.names,
    all: state.all,
    select: (names, selected, base) => {
      const next = new Set(base ?? state.names);
      for (const name of names) {
        if (selected) next.add(name);
        else next.delete(name);
      }
      setState({ key, names: next, all: false });
    },
    selectAll: () => setState({ ...state, all: true }),
    clear: () => setState({ key, names: new Set(), all: false }),
  };
}
