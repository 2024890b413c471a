import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { WorkerCountsSchema } from "@gen/flytebinary/insight/v1/pools_pb.js";
import { PoolsSearch } from "./search";
import { policyWords, slowWords, warmWords, workerOf, workersWords } from "./words";

it("tells what a pool has and may have", () => {
  expect(workersWords({ workers: create(WorkerCountsSchema, { live: 1, starting: 2 }) })).toBe("1 ready, 2 starting");
  expect(workersWords({})).toBe("None");
  expect(policyWords({ minReplicas: 1, maxReplicas: 2, concurrency: 1 })).toBe("1 to 2 workers with 1 slot each");
  expect(policyWords({ minReplicas: 3, maxReplicas: 3, concurrency: 4 })).toBe("3 workers with 4 slots each");
  expect(warmWords({ attempts: 3n, warmHits: 2n })).toBe("2 of 3 (67 %)");
  expect(warmWords({ attempts: 0n, warmHits: 0n })).toBeUndefined();
  expect(slowWords({ slowStarts: 0n, slowStart: "" })).toBeUndefined();
  expect(slowWords({ slowStarts: 1n, slowStart: "it changes open files" })).toBe("1 loaded its code alone: it changes open files");
  expect(slowWords({ slowStarts: 12n, slowStart: "it changes open files" })).toBe("12 loaded their code alone: it changes open files");
});

it("finds the worker of an attempt", () => {
  const event = (reason: string, sourceComponent: string, message: string) => ({ reason, sourceComponent, message });
  expect(workerOf([event("Worker", "worker", "worker abc"), event("Queued", "workers", "waits: …")])).toBe("abc");
  expect(workerOf([event("Scheduled", "scheduler", "worker abc")])).toBeUndefined();
  expect(workerOf(undefined)).toBeUndefined();
});

it("keeps the known parameters", () => {
  expect(PoolsSearch({ environment: "env", pool: "3", other: 1 })).toEqual({ environment: "env", pool: 3 });
  expect(PoolsSearch({ environment: "", pool: "x" })).toEqual({});
});
