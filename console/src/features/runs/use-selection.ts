import { useState } from "react";
import type { Place } from "@/app/place";
import type { RunsSearch } from "./search";

/** The selected runs: some by name, or all that match. A new search clears the selection. */
export interface Selection {
  readonly names: ReadonlySet<string>;
  /** Whether all matching runs are selected, including those that are not loaded. */
  readonly all: boolean;
  /** Selects or deselects runs; base replaces the previous selection. */
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
