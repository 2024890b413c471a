import { useState } from "react";
import { read, write } from "@/app/storage";
import { RunsSearch } from "./search";

/** A named search. It is stored in this browser, and applies to every project. */
export interface View {
  readonly name: string;
  readonly search: RunsSearch;
}

/** The built-in views. */
export const givenViews: readonly View[] = [
  { name: "All runs", search: {} },
  { name: "Active", search: { phases: "queued,waiting,initializing,running,paused" } },
  { name: "Failed in the last 24 hours", search: { phases: "failed,timed-out", since: "24h" } },
  { name: "Waiting for approval", search: { paused: true } },
];

const isViews = (value: unknown): value is readonly View[] =>
  Array.isArray(value) &&
  value.every(
    (view: unknown) => typeof view === "object" && view !== null && typeof (view as View).name === "string" && typeof (view as View).search === "object",
  );

/** The saved views, as far as they are still valid. */
export const keptViews = (): readonly View[] => (read("runs-views", isViews) ?? []).map(({ name, search }) => ({ name, search: RunsSearch({ ...search }) }));

/** Adds a view, or replaces the one with the same name. */
export const withView = (views: readonly View[], view: View): readonly View[] =>
  [...views.filter(({ name }) => name !== view.name), view].sort((a, b) => a.name.localeCompare(b.name));

/** Whether two searches are equal. */
export function sameSearch(a: RunsSearch, b: RunsSearch): boolean {
  const text = (search: RunsSearch) => JSON.stringify(Object.entries(RunsSearch({ ...search })).sort(([x], [y]) => x.localeCompare(y)));
  return text(a) === text(b);
}

export function useViews() {
  const [views, setViews] = useState(keptViews);
  const keep = (next: readonly View[]) => {
    setViews(next);
    write("runs-views", next.length > 0 ? next : undefined);
  };
  return {
    views,
    save: (view: View) => keep(withView(keptViews(), view)),
    remove: (name: string) => keep(keptViews().filter((view) => view.name !== name)),
  };
}
