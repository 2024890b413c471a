import { ClusterEventKind, ClusterHealth, ClusterState, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { bytes, count } from "@/design/format";
import { t, tn } from "@/texts/texts";
import type { ClusterSort } from "./search";

/** How often pages of clusters reload, in milliseconds. */
export const every = 5000;

/** The names of resources that Kubernetes abbreviates. */
const names: Readonly<Record<string, string>> = { cpu: "CPU", memory: t("Memory"), "ephemeral-storage": t("Disk") };

export const resourceName = (resource: string): string => names[resource] ?? resource;

/** An amount of a resource: thousandths of a core, bytes, or units. */
export function amount(resource: string, n: bigint): string {
  const value = Number(n);
  switch (resource) {
    case "cpu":
      return count(Math.round(value / 100) / 10);
    case "memory":
    case "ephemeral-storage":
      return bytes(value);
    default:
      return count(n);
  }
}

/** An amount with the name of its resource: "2.5 CPU", "8 GiB memory". */
export const asked = (resource: string, n: bigint): string => `${amount(resource, n)} ${resource === "cpu" ? "CPU" : resourceName(resource).toLowerCase()}`;

/** Amounts in the order of capacityOf, in one line. */
export const askedWords = (amounts: Readonly<Record<string, bigint>>): string =>
  Object.keys(amounts)
    .sort(byResource)
    .map((resource) => asked(resource, amounts[resource] ?? 0n))
    .join(", ");

const common: readonly string[] = ["cpu", "memory"];
/** CPU, memory, devices, disk, then what else there is. */
const rank = (resource: string): number => {
  const at = common.indexOf(resource);
  if (at >= 0) return at;
  return resource.includes("/") ? 2 : resource === "ephemeral-storage" ? 3 : 4;
};
const byResource = (a: string, b: string): number => rank(a) - rank(b) || a.localeCompare(b);

/** A resource of a cluster. */
export interface Capacity {
  readonly resource: string;
  readonly total: bigint;
  /** What pods have requested. */
  readonly taken: bigint;
  readonly free: bigint;
  /** The most that one node has. */
  readonly largest: bigint | undefined;
}

/** The resources that the nodes of a cluster have, except those that only limit how much one node holds. */
export const capacityOf = ({ capacity, free, largest }: Pick<Cluster, "capacity" | "free" | "largest">): readonly Capacity[] =>
  Object.keys(capacity)
    .filter((resource) => resource !== "pods" && !resource.startsWith("hugepages-") && (capacity[resource] ?? 0n) > 0n)
    .sort(byResource)
    .map((resource) => {
      const total = capacity[resource] ?? 0n;
      const left = free[resource] ?? 0n;
      const unused = left < 0n ? 0n : left > total ? total : left;
      return { resource, total, free: unused, taken: total - unused, largest: largest[resource] };
    });

/** The part of the scarcest resource that is taken, from 0 to 1; undefined if nothing is known. */
export const fullness = (cluster: Pick<Cluster, "capacity" | "free" | "largest">): number | undefined => {
  const shares = capacityOf(cluster)
    .filter(({ resource }) => resource !== "ephemeral-storage")
    .map(({ total, taken }) => Number(taken) / Number(total));
  return shares.length === 0 ? undefined : Math.max(...shares);
};

export type HealthKind = "ready" | "cordoned" | "draining" | "away" | "lost" | "unseen";

/** How a cluster is. What operators want of it comes after whether it is there. */
export function healthOf({ state, health, lostAt }: Cluster, now: number): HealthKind {
  if (health === ClusterHealth.AWAY) return lostAt && Number(lostAt.seconds) * 1000 <= now ? "lost" : "away";
  if (state === ClusterState.CORDONED) return "cordoned";
  if (state === ClusterState.DRAINING) return "draining";
  return health === ClusterHealth.UNSPECIFIED ? "unseen" : "ready";
}

/** What a draining cluster still has: "12 left". */
export function leftWords({ work }: Pick<Cluster, "work">): string {
  const left = (work?.actions ?? 0) + (work?.workers ?? 0) + (work?.apps ?? 0);
  return left === 0 ? t("nothing left") : t("{left} left", { left: count(left) });
}

/** The work of a cluster: "3 actions, 1 app"; "nothing" without any. */
export function workWords({ work }: Pick<Cluster, "work">): string {
  const parts = [
    [work?.actions ?? 0, (n: number) => tn(n, "{n} action", "{n} actions")],
    [work?.workers ?? 0, (n: number) => tn(n, "{n} worker", "{n} workers")],
    [work?.apps ?? 0, (n: number) => tn(n, "{n} app", "{n} apps")],
  ] as const;
  return (
    parts
      .filter(([n]) => n > 0)
      .map(([n, words]) => words(n))
      .join(", ") || t("nothing")
  );
}

/** Attempts that have begun. */
export const running = ({ work }: Pick<Cluster, "work">): number => (work?.actions ?? 0) - (work?.pending ?? 0);
/** Attempts that have not begun, and actions in queues of the cluster. */
export const waiting = ({ work }: Pick<Cluster, "work">): number => (work?.pending ?? 0) + (work?.queued ?? 0);

const urgency: Readonly<Record<HealthKind, number>> = { lost: 0, away: 1, draining: 2, cordoned: 3, unseen: 4, ready: 5 };

/** Clusters in an order; those that are equal are in the order of their names. */
export function sorted(clusters: readonly Cluster[], sort: ClusterSort, now: number): readonly Cluster[] {
  const value = (cluster: Cluster): number => {
    switch (sort) {
      case "fullest":
        return -(fullness(cluster) ?? -1);
      case "busiest":
        return -(cluster.work?.actions ?? 0);
      case "waiting":
        return -waiting(cluster);
      case "health":
        return urgency[healthOf(cluster, now)];
      case "name":
        return 0;
    }
  };
  return [...clusters].sort((a, b) => value(a) - value(b) || a.name.localeCompare(b.name));
}

export const eventWords: Readonly<Record<ClusterEventKind, string>> = {
  [ClusterEventKind.UNSPECIFIED]: t("Something happened"),
  [ClusterEventKind.ADDED]: t("Added"),
  [ClusterEventKind.CONNECTED]: t("Connected for the first time"),
  [ClusterEventKind.RETURNED]: t("Came back"),
  [ClusterEventKind.AWAY]: t("Went away"),
  [ClusterEventKind.LOST]: t("Lost"),
  [ClusterEventKind.VERSION]: t("Changed its version"),
  [ClusterEventKind.CORDONED]: t("Cordoned"),
  [ClusterEventKind.DRAINING]: t("Began to drain"),
  [ClusterEventKind.READY]: t("Takes new work again"),
  [ClusterEventKind.CHANGED]: t("Settings changed"),
};

/** Reads a duration such as 90m, 2h or 1d12h, in seconds; undefined if it is none, or longer than 30 days. */
export function secondsOf(text: string): number | undefined {
  const found = /^(?:(\d{1,3})d)?(?:(\d{1,3})h)?(?:(\d{1,5})m)?$/.exec(text.trim().replaceAll(" ", ""));
  if (!found || found[0] === "") return undefined;
  const [, days = "0", hours = "0", minutes = "0"] = found;
  const seconds = Number(days) * 86_400 + Number(hours) * 3600 + Number(minutes) * 60;
  return seconds <= 2_592_000 ? seconds : undefined;
}
