import { useNavigate, useParams, useRouter } from "@tanstack/react-router";
import { lastPlace, type Place } from "./place";

/** A page that can be opened from everywhere. */
export interface Destination {
  readonly title: string;
  /** Its shortcut. */
  readonly keys: string;
  /** Its route; routes with $ belong to a project's domain. */
  readonly route: string;
  readonly go: () => void;
}

const known: readonly (readonly [title: string, keys: string, routes: readonly string[]])[] = [
  ["Runs", "g r", ["/domain/$domain/project/$project/runs"]],
  ["Problems", "g b", ["/domain/$domain/project/$project/problems"]],
  ["Tasks", "g t", ["/domain/$domain/project/$project/tasks"]],
  ["Costs", "g x", ["/domain/$domain/project/$project/costs", "/costs"]],
  ["Apps", "g p", ["/domain/$domain/project/$project/apps"]],
  ["Secrets", "g e", ["/domain/$domain/project/$project/secrets"]],
  ["Worker pools", "g w", ["/domain/$domain/project/$project/pools"]],
  ["Artifacts", "g a", ["/domain/$domain/project/$project/artifacts"]],
  ["Projects", "g h", ["/"]],
  ["Inbox: pending approvals", "g i", ["/domain/$domain/project/$project/inbox", "/inbox"]],
  ["Waiting: who waits for what", "g q", ["/waiting"]],
  ["Notifications", "g n", ["/notifications"]],
  ["Members and roles", "g m", ["/domain/$domain/project/$project/members"]],
  ["My account and limits", "g o", ["/me"]],
  ["My API keys", "g k", ["/keys"]],
  ["Local accounts", "g c", ["/accounts"]],
  ["Audit", "g u", ["/audit"]],
  ["System", "g s", ["/system"]],
];

/** The current project and domain, or the last one. */
export function useHere(): Place | undefined {
  const params = useParams({ strict: false });
  return params.project !== undefined && params.domain !== undefined ? { project: params.project, domain: params.domain } : lastPlace();
}

/** The pages that can be opened from here. */
export function useDestinations(): readonly Destination[] {
  const router = useRouter();
  const navigate = useNavigate();
  const here = useHere();
  const routes: Readonly<Record<string, unknown>> = router.routesByPath;
  return known.flatMap(([title, keys, paths]) => {
    const route = paths.find((path) => path in routes && (here !== undefined || !path.includes("$")));
    if (route === undefined) return [];
    const path = here ? route.replace("$domain", encodeURIComponent(here.domain)).replace("$project", encodeURIComponent(here.project)) : route;
    return [{ title, keys, route, go: () => void navigate({ href: `/v2${path}` }) }];
  });
}
