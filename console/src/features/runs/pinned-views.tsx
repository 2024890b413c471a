import { Link, useSearch } from "@tanstack/react-router";
import type { Place } from "@/app/place";
import type { RunsSearch } from "./search";
import { sameSearch, useViews } from "./views";

/** Links to the pinned views, for the navigation. */
export function PinnedViews({ place }: { readonly place: Place }) {
  const { views } = useViews(place);
  const present: RunsSearch = useSearch({ strict: false });
  return views
    .filter(({ pinned }) => pinned)
    .map(({ name, search, shared }) => (
      <Link
        key={`${String(shared)}/${name}`}
        to="/domain/$domain/project/$project/runs"
        params={place}
        search={search}
        activeOptions={{ exact: true, includeSearch: true }}
        title={search.query}
        data-pinned
        {...(sameSearch(search, present) && { "aria-current": "page" as const })}
      >
        {name}
      </Link>
    ));
}
