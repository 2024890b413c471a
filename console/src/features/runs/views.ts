import { useQueryClient } from "@tanstack/react-query";
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { useEffect } from "react";
import { ViewService, type View as Stored } from "@gen/flytebinary/insight/v1/views_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { read, write } from "@/app/storage";
import { t } from "@/texts/texts";
import { orderOfSort, sortOfOrder } from "./request";
import { RunsSearch } from "./search";

/** A named search. */
export interface View {
  readonly name: string;
  readonly search: RunsSearch;
  /** Whether everyone in the project has it; otherwise it is the reader's own, in every project. */
  readonly shared: boolean;
  readonly pinned: boolean;
}

const given = (name: string, query: string): View => ({ name, search: RunsSearch({ query }), shared: false, pinned: false });

/** The built-in views. */
export const givenViews: readonly View[] = [
  given(t("All runs"), ""),
  given(t("Active"), "is:active"),
  given(t("Failed in the last 24 hours"), "phase:failed,timed-out since:24h"),
  given(t("My runs"), "owner:me"),
  given(t("Waiting for approval"), "is:paused"),
];

/** Whether two searches are equal. */
export const sameSearch = (a: RunsSearch, b: RunsSearch): boolean => (a.query ?? "") === (b.query ?? "") && a.sort === b.sort;

const isViews = (value: unknown): value is readonly { readonly name: string; readonly search: Record<string, unknown> }[] =>
  Array.isArray(value) &&
  value.every(
    (view: unknown) =>
      typeof view === "object" && view !== null && typeof (view as View).name === "string" && typeof (view as View).search === "object",
  );

/** The views that this browser stored before the server did. */
export const viewsOfBrowser = (): readonly View[] =>
  (read("runs-views", isViews) ?? []).map(({ name, search }) => ({ name, search: RunsSearch(search), shared: false, pinned: false }));

const message = ({ name, search, pinned }: View) => ({ name, query: search.query ?? "", order: orderOfSort(search.sort), pinned });

const viewOf = ({ name, query, order, pinned, shared }: Stored): View => {
  const sort = sortOfOrder(order);
  return { name, search: { ...(query !== "" && { query }), ...(sort && { sort }) }, pinned, shared };
};

/** Moves the views of this browser to the server, once. What the server has under the same name stays. */
export async function moveViews(known: readonly View[], save: (view: View) => Promise<unknown>): Promise<number> {
  const moved = viewsOfBrowser().filter(({ name }) => !known.some((view) => !view.shared && view.name === name));
  for (const view of moved) await save(view);
  write("runs-views", undefined);
  return moved.length;
}

/** The views of the reader and of a project. */
export function useViews({ project, domain }: Place) {
  const queries = useQueryClient();
  const { data } = useQuery(ViewService.method.listViews, { projectId: { name: project, domain } }, { retry: false, staleTime: 30_000 });
  const views = data?.views.map(viewOf) ?? [];
  const reload = () => queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema: ViewService.method.listViews, cardinality: "finite" }) });
  const save = async (view: View) => {
    const projectId = { name: project, domain };
    await (view.shared ? client(ViewService).shareView({ projectId, view: message(view) }) : client(ViewService).saveView({ view: message(view) }));
    await reload();
  };
  useEffect(() => {
    // If it fails, the next visit tries again.
    if (data && viewsOfBrowser().length > 0) moveViews(views, (view) => client(ViewService).saveView({ view: message(view) })).then(reload, () => undefined);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once the server's views are known
  }, [data !== undefined]);
  return {
    views,
    save,
    remove: async ({ name, shared }: View) => {
      await (shared ? client(ViewService).deleteSharedView({ projectId: { name: project, domain }, name }) : client(ViewService).deleteView({ name }));
      await reload();
    },
  };
}
