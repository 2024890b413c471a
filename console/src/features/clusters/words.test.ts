import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { ClusterHealth, ClusterSchema, ClusterState, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { ClustersSearch } from "./search";
import { whyWords } from "./waits";
import { amount, capacityOf, fullness, healthOf, leftWords, secondsOf, sorted, waiting, workWords } from "./words";

const now = 1_700_000_000_000;
const cluster = (init: Parameters<typeof create<typeof ClusterSchema>>[1]): Cluster =>
  create(ClusterSchema, { health: ClusterHealth.CONNECTED, state: ClusterState.READY, ...init });

it("says how a cluster is: that it is away matters more than what operators want of it", () => {
  expect(healthOf(cluster({}), now)).toBe("ready");
  expect(healthOf(cluster({ health: ClusterHealth.UNSPECIFIED }), now)).toBe("unseen");
  expect(healthOf(cluster({ state: ClusterState.CORDONED }), now)).toBe("cordoned");
  expect(healthOf(cluster({ state: ClusterState.DRAINING, health: ClusterHealth.AWAY }), now)).toBe("away");
  expect(healthOf(cluster({ health: ClusterHealth.AWAY, lostAt: timestampFromMs(now + 1000) }), now)).toBe("away");
  expect(healthOf(cluster({ health: ClusterHealth.AWAY, lostAt: timestampFromMs(now - 1000) }), now)).toBe("lost");
});

it("orders resources and never shows less than nothing", () => {
  const large = cluster({
    capacity: { "ephemeral-storage": 10n, "nvidia.com/gpu": 8n, memory: 100n, pods: 110n, "hugepages-2Mi": 1n, cpu: 4000n, "amd.com/gpu": 0n },
    free: { cpu: -500n, memory: 25n, "nvidia.com/gpu": 9n },
    largest: { cpu: 2000n },
  });
  expect(capacityOf(large).map(({ resource, taken, free }) => [resource, taken, free])).toEqual([
    ["cpu", 4000n, 0n],
    ["memory", 75n, 25n],
    ["nvidia.com/gpu", 0n, 8n],
    ["ephemeral-storage", 10n, 0n],
  ]);
  expect(fullness(large)).toBe(1);
  expect(fullness(cluster({}))).toBeUndefined();
  expect([amount("cpu", 2500n), amount("cpu", 16_000n), amount("memory", 2n ** 34n), amount("nvidia.com/gpu", 1200n)]).toEqual(["2.5", "16", "16 GiB", "1,200"]);
});

it("counts work", () => {
  const work = { actions: 12, pending: 2, queued: 3, workers: 1, apps: 1 };
  expect(workWords(cluster({ work }))).toBe("12 actions, 1 worker, 1 app");
  expect(workWords(cluster({}))).toBe("nothing");
  expect(leftWords(cluster({ work }))).toBe("14 left");
  expect(leftWords(cluster({}))).toBe("nothing left");
  expect(waiting(cluster({ work }))).toBe(5);
});

it("sorts by name, use, work and problems", () => {
  const clusters = [
    cluster({ name: "b", capacity: { cpu: 10n }, free: { cpu: 1n }, work: { actions: 1, pending: 1 } }),
    cluster({ name: "c", state: ClusterState.DRAINING, work: { actions: 5 } }),
    cluster({ name: "a", capacity: { cpu: 10n }, free: { cpu: 9n } }),
    cluster({ name: "d", health: ClusterHealth.AWAY }),
  ];
  const names = (sort: Parameters<typeof sorted>[1]) =>
    sorted(clusters, sort, now)
      .map(({ name }) => name)
      .join("");
  expect(names("name")).toBe("abcd");
  expect(names("fullest")).toBe("bacd");
  expect(names("busiest")).toBe("cbad");
  expect(names("waiting")).toBe("bacd");
  expect(names("health")).toBe("dcab");
  expect(ClustersSearch({ sort: "health", other: 1 })).toEqual({ sort: "health" });
  expect([ClustersSearch({ sort: "name" }), ClustersSearch({ sort: "odd" }), ClustersSearch({ sort: 1 })]).toEqual([{}, {}, {}]);
});

it("reads time limits", () => {
  expect(["90m", "2h", "1d12h", " 1h 30m ", "0m", "30d"].map(secondsOf)).toEqual([5400, 7200, 129_600, 5400, 0, 2_592_000]);
  expect(["", "soon", "2", "-1h", "31d", "1.5h", "1m1h"].map(secondsOf)).toEqual(Array(7).fill(undefined));
});

it("says for which resource an action waits", () => {
  expect(whyWords({ resource: "cpu", asked: { cpu: 4000n }, free: 1500n, message: "" })).toBe("4 CPU; free: 1.5 CPU");
  expect(whyWords({ resource: "cpu", asked: { cpu: 4000n }, free: 1500n, message: "the cluster is cordoned" })).toBe("the cluster is cordoned");
});
