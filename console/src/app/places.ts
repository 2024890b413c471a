import { useNavigate, useParams, useRouter } from "@tanstack/react-router";
import { t } from "@/texts/texts";
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
  [t("Runs"), "g r", ["/domain/$domain/project/$project/runs"]],
  [t("Problems"), "g b", ["/domain/$domain/project/$project/problems"]],
  [t("Tasks"), "g t", ["/domain/$domain/project/$project/tasks"]],
  [t("Costs"), "g x", ["/domain/$domain/project/$project/costs", "/costs"]],
  [t("Apps"), "g p", ["/domain/$domain/project/$project/apps"]],
  [t("Secrets"), "g e", ["/domain/$domain/project/$project/secrets"]],
  [t("Worker pools"), "g w", ["/domain/$domain/project/$project/pools"]],
  [t("Artifacts"), "g a", ["/domain/$domain/project/$project/artifacts"]],
  [t("Projects"), "g h", ["/"]],
  [t("Inbox: pending approvals"), "g i", ["/domain/$domain/project/$project/inbox", "/inbox"]],
  [t("Waiting: who waits for what"), "g q", ["/waiting"]],
  [t("Notifications"), "g n", ["/notifications"]],
  [t("Members and roles"), "g m", ["/domain/$domain/project/$project/members"]],
  [t("My account and limits"), "g o", ["/me"]],
  [t("My API keys"), "g k", ["/keys"]],
  [t("Local accounts"), "g c", ["/accounts"]],
  [t("Audit"), "g u", ["/audit"]],
  [t("System"), "g s", ["/system"]],
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
