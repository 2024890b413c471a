import { useInfiniteQuery } from "@tanstack/react-query";
import { Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { ProjectService, ProjectState, type Project } from "@gen/flyteidl2/project/project_service_pb.js";
import { client } from "@/api/transport";

const pageSize = 60;

/** An API filter for projects whose field contains a text, with or without archived ones. */
export function projectFilter(field: "id" | "name", search: string, archived: boolean): string {
  // Parentheses end an expression anywhere in the text.
  const text = search.replace(/[()]/g, "").trim();
  const state = archived ? "value_in(state, 0;1;2;3)" : "ne(state, 1)";
  return text === "" ? state : `${state}+contains(${field}, ${text})`;
}

/** The projects of two lists without duplicates, sorted by name. */
export function union(a: readonly Project[], b: readonly Project[]): readonly Project[] {
  const byId = new Map([...a, ...b].map((project) => [project.id, project]));
  return [...byId.values()].sort((x, y) => x.name.localeCompare(y.name));
}

/** The projects whose name or ID contains a text, page by page; archived ones on request. */
export function useProjects(search: string, archived = false, enabled = true) {
  const text = search.trim();
  const byName = usePages("name", text, archived, enabled);
  // IDs have no capitals, so the case does not matter.
  const byId = usePages("id", text.toLowerCase(), archived, enabled && text !== "");
  const both = [byName, byId];
  return {
    projects: union(pages(byName), text === "" ? [] : pages(byId)),
    loading: both.some((answer) => answer.isLoading),
    error: both.find((answer) => answer.error)?.error,
    more: both.some((answer) => answer.hasNextPage),
    loadMore: () => {
      for (const answer of both) if (answer.hasNextPage) void answer.fetchNextPage();
    },
    refetch: () => {
      for (const answer of both) void answer.refetch();
    },
  };
}

const pages = (answer: ReturnType<typeof usePages>): readonly Project[] => answer.data?.pages.flatMap((page) => page.projects?.projects ?? []) ?? [];

function usePages(field: "id" | "name", text: string, archived: boolean, enabled: boolean) {
  const filters = projectFilter(field, text, archived);
  return useInfiniteQuery({
    queryKey: ["projects", filters],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(ProjectService).listProjects(
        { limit: pageSize, token: pageParam, filters, sortBy: { key: "name", direction: Sort_Direction.ASCENDING } },
        { signal },
      ),
    getNextPageParam: (page) => page.projects?.token || undefined,
    enabled,
  });
}

export const isArchived = ({ state }: Project): boolean => state === ProjectState.ARCHIVED || state === ProjectState.SYSTEM_ARCHIVED;
