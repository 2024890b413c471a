import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { chunk } from "@/api/chunk";
import { AccountsSearch, AuditSearch, ExplainSearch, KeysSearch, MembersSearch } from "@/features/access/search";
import { AppSearch, AppsSearch } from "@/features/apps/search";
import { ArtifactSearch, ArtifactsSearch } from "@/features/artifacts/search";
import { ProblemsSearch } from "@/features/problems/search";
import { ClustersSearch } from "@/features/clusters/search";
import { CompareSearch } from "@/entities/run/comparison";
import { CostsSearch } from "@/features/costs/search";
import { HomeSearch } from "@/features/home/search";
import { NotificationsSearch } from "@/features/notifications/search";
import { PoolsSearch } from "@/features/pools/search";
import { ActionSearch } from "@/features/run/search";
import { RunsSearch } from "@/features/runs/search";
import { LaunchSearch } from "@/features/launch/search";
import { SecretsSearch } from "@/features/secrets/search";
import { SystemSearch } from "@/features/system/search";
import { TaskSearch, TasksSearch } from "@/features/tasks/search";
import { TriggerSearch, TriggersSearch } from "@/features/triggers/search";
import { InboxSearch } from "@/features/inbox/search";
import { WaitingSearch } from "@/features/waiting/search";
import { Failure, NotFound } from "./failure";
import { rememberPlace } from "@/app/place";
import { KnownPlace } from "./known-place";
import { Shell } from "./shell";
import { SignedIn } from "./signed-in";

// Clients print these URLs, such as /v2/domain/{domain}/project/{project}/runs/{run}.

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Failure });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: HomeSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/home/page")), "HomePage"),
});
const projects = createRoute({
  getParentRoute: () => root,
  path: "/projects",
  validateSearch: HomeSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/home/page")), "HomePage"),
});
const system = createRoute({
  getParentRoute: () => root,
  path: "/system",
  validateSearch: SystemSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/system/page")), "SystemPage"),
});

const inbox = createRoute({ getParentRoute: () => root, path: "/inbox", validateSearch: InboxSearch, component: lazyRouteComponent(() => chunk(() => import("@/features/inbox/page")), "InboxPage") });

const notifications = createRoute({
  getParentRoute: () => root,
  path: "/notifications",
  validateSearch: NotificationsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/notifications/page")), "NotificationsPage"),
});

const waiting = createRoute({
  getParentRoute: () => root,
  path: "/waiting",
  validateSearch: WaitingSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/waiting/page")), "WaitingPage"),
});

const signedIn = createRoute({ getParentRoute: () => root, path: "/signed-in", component: SignedIn });
const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  validateSearch: KeysSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/access/keys-page")), "KeysPage"),
});
const me = createRoute({
  getParentRoute: () => root,
  path: "/me",
  component: lazyRouteComponent(() => chunk(() => import("@/features/access/me-page")), "MePage"),
});
const accounts = createRoute({
  getParentRoute: () => root,
  path: "/accounts",
  validateSearch: AccountsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/access/accounts-page")), "AccountsPage"),
});
const clusters = createRoute({
  getParentRoute: () => root,
  path: "/clusters",
  validateSearch: ClustersSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/clusters/page")), "ClustersPage"),
});
const cluster = createRoute({
  getParentRoute: () => root,
  path: "/clusters/$cluster",
  component: lazyRouteComponent(() => chunk(() => import("@/features/clusters/cluster-page")), "ClusterPage"),
});
const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: AuditSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/access/audit-page")), "AuditPage"),
});
const explain = createRoute({
  getParentRoute: () => root,
  path: "/explain",
  validateSearch: ExplainSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/access/explain-page")), "ExplainPage"),
});

/** The parent of all pages of a project's domain. */
export const place = createRoute({
  getParentRoute: () => root,
  path: "/domain/$domain/project/$project",
  beforeLoad: ({ params }) => rememberPlace(params),
  component: KnownPlace,
});

const placeIndex = createRoute({
  getParentRoute: () => place,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/domain/$domain/project/$project/runs", params });
  },
});

export const runs = createRoute({
  getParentRoute: () => place,
  path: "/runs",
  validateSearch: RunsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/runs/page")), "RunsPage"),
});
export const run = createRoute({
  getParentRoute: () => place,
  path: "/runs/$run",
  validateSearch: ActionSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/run/page")), "RunPage"),
});
export const trackedRun = createRoute({
  getParentRoute: () => place,
  path: "/tracked-runs/$run",
  validateSearch: ActionSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/run/page")), "TrackedRunPage"),
});
export const tasks = createRoute({
  getParentRoute: () => place,
  path: "/tasks",
  validateSearch: TasksSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/tasks/page")), "TasksPage"),
});
export const task = createRoute({
  getParentRoute: () => place,
  path: "/tasks/$task",
  validateSearch: TaskSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/tasks/task-page")), "TaskPage"),
});
export const taskVersion = createRoute({
  getParentRoute: () => place,
  path: "/tasks/$task/$version",
  validateSearch: TaskSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/tasks/task-page")), "TaskPage"),
});
export const secrets = createRoute({
  getParentRoute: () => place,
  path: "/secrets",
  validateSearch: SecretsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/secrets/page")), "SecretsPage"),
});
export const pools = createRoute({
  getParentRoute: () => place,
  path: "/pools",
  validateSearch: PoolsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/pools/page")), "PoolsPage"),
});
export const members = createRoute({
  getParentRoute: () => place,
  path: "/members",
  validateSearch: MembersSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/access/members-page")), "MembersPage"),
});
export const artifacts = createRoute({
  getParentRoute: () => place,
  path: "/artifacts",
  validateSearch: ArtifactsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/artifacts/page")), "ArtifactsPage"),
});
export const artifact = createRoute({
  getParentRoute: () => place,
  path: "/artifacts/$artifact",
  validateSearch: ArtifactSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/artifacts/artifact-page")), "ArtifactPage"),
});
export const problems = createRoute({
  getParentRoute: () => place,
  path: "/problems",
  validateSearch: ProblemsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/problems/page")), "ProblemsPage"),
});
export const problem = createRoute({
  getParentRoute: () => place,
  path: "/problems/$problem",
  component: lazyRouteComponent(() => chunk(() => import("@/features/problems/problem-page")), "ProblemPage"),
});
const allCosts = createRoute({
  getParentRoute: () => root,
  path: "/costs",
  validateSearch: CostsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/costs/page")), "CostsPage"),
});
export const costs = createRoute({
  getParentRoute: () => place,
  path: "/costs",
  validateSearch: CostsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/costs/page")), "CostsPage"),
});
export const launch = createRoute({
  getParentRoute: () => place,
  path: "/launch",
  validateSearch: LaunchSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/launch/page")), "LaunchPage"),
});
export const compare = createRoute({
  getParentRoute: () => place,
  path: "/compare",
  validateSearch: CompareSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/compare/page")), "ComparePage"),
});
export const placeInbox = createRoute({
  getParentRoute: () => place,
  path: "/inbox",
  validateSearch: InboxSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/inbox/page")), "InboxPage"),
});

export const notificationRules = createRoute({
  getParentRoute: () => place,
  path: "/notification-rules",
  component: lazyRouteComponent(() => chunk(() => import("@/features/notifications/rules-page")), "RulesPage"),
});

export const triggers = createRoute({
  getParentRoute: () => place,
  path: "/triggers",
  validateSearch: TriggersSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/triggers/page")), "TriggersPage"),
});
export const trigger = createRoute({
  getParentRoute: () => place,
  path: "/triggers/$task/$name",
  validateSearch: TriggerSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/triggers/trigger-page")), "TriggerPage"),
});

export const apps = createRoute({
  getParentRoute: () => place,
  path: "/apps",
  validateSearch: AppsSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/apps/page")), "AppsPage"),
});
export const app = createRoute({
  getParentRoute: () => place,
  path: "/apps/$app",
  validateSearch: AppSearch,
  component: lazyRouteComponent(() => chunk(() => import("@/features/apps/app-page")), "AppPage"),
});

const tree = root.addChildren([
  home,
  projects,
  inbox,
  waiting,
  notifications,
  system,
  signedIn,
  me,
  accounts,
  keys,
  clusters,
  cluster,
  audit,
  explain,
  allCosts,
  place.addChildren([
    ...[placeIndex, problems, problem, runs, run, trackedRun, tasks, task, taskVersion, triggers, trigger, secrets, pools, artifacts, artifact],
    ...[apps, app, launch, compare, costs, placeInbox, notificationRules, members],
  ]),
]);

export const router = createRouter({ routeTree: tree, basepath: "/v2", defaultPreload: "intent" });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
