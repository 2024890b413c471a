import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { AppService } from "@gen/flyteidl2/app/app_service_pb.js";
import { IdentityService } from "@gen/flyteidl2/auth/identity_pb.js";
import { Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { client } from "@/api/transport";
import { useWatch } from "@/api/use-watch";
import type { Place } from "@/app/place";
import { t } from "@/texts/texts";
import { filtersOf, matches } from "./filters";
import { fold, merged } from "./merge";
import type { AppsSearch } from "./search";

const pageSize = 100;
/** How often the list is read again in case that the stream missed something, in milliseconds; and if there is no stream. */
const refresh = { watched: 60_000, alone: 10_000 };

/** The apps of a project's domain that match, newest first, live. */
export function useApps({ project, domain }: Place, search: AppsSearch) {
  const me = useMe(search.owner === "me");
  const wanted = useMemo(() => ({ ...search, ...(search.owner === "me" && { owner: me ?? "" }) }), [search, me]);
  const scope = { organization: "flyte", name: project, domain };
  const { state, problem } = useWatch(t("apps {project}/{domain}", { project, domain }), (signal) => client(AppService).watch({ target: { case: "project", value: scope } }, { signal }), fold);
  const answer = useInfiniteQuery({
    queryKey: ["apps", project, domain, wanted],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(AppService).list(
        {
          request: {
            limit: pageSize,
            token: pageParam,
            filters: filtersOf(wanted),
            sortByFields: [{ key: "created_at", direction: Sort_Direction.DESCENDING }],
          },
          filterBy: { case: "project", value: scope },
        },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: keepPreviousData,
    enabled: search.owner !== "me" || me !== undefined,
    refetchInterval: problem ? refresh.alone : refresh.watched,
  });
  const { data, hasNextPage } = answer;
  const apps = useMemo(
    () => (data ? merged(data.pages.flatMap((page) => page.apps), hasNextPage, state?.apps ?? new Map(), (app) => matches(app, wanted)) : []),
    [data, hasNextPage, state, wanted],
  );
  return { apps, answer, live: state !== undefined };
}

/** The reader's subject; undefined until it is known. Readers without an identity have an empty one. */
function useMe(asked: boolean): string | undefined {
  const { data, isError } = useQuery(IdentityService.method.userInfo, {}, { enabled: asked, staleTime: Infinity });
  return isError ? "" : data?.subject;
}
