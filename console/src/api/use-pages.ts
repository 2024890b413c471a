import { keepPreviousData, useInfiniteQuery, type QueryKey } from "@tanstack/react-query";

interface Options {
  /** Whether to load anything at all. Defaults to true. */
  readonly enabled?: boolean;
  /** Keeps the rows of the previous key until those of the new key arrive. */
  readonly keep?: boolean;
  /** How often to reload while only the first page is loaded, in milliseconds. */
  readonly refresh?: number;
  /** Also reloads when more pages are loaded. */
  readonly refreshAll?: boolean;
}

/** Loads a list page by page, with the tokens of the server. */
export function usePages<Page extends { readonly token: string }, Row>(
  queryKey: QueryKey,
  load: (token: string, signal: AbortSignal) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
  { enabled = true, keep = false, refresh, refreshAll = false }: Options = {},
) {
  const answer = useInfiniteQuery({
    queryKey,
    enabled,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    getNextPageParam: (page) => page.token || undefined,
    ...(keep && { placeholderData: keepPreviousData }),
    refetchInterval: (query) => (refresh !== undefined && (refreshAll || query.state.data?.pages.length === 1) ? refresh : false),
  });
  return { answer, rows: answer.data?.pages.flatMap((page) => rowsOf(page)) ?? [] };
}
