import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { ClusterEventSchema } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { appOf, curveOf, jobOf } from "./words";

const event = (reason: string, message: string, sourceComponent = "connector") => create(ClusterEventSchema, { reason, message, sourceComponent });

it("reads the job of an attempt from its events", () => {
  expect(jobOf(undefined)).toBeUndefined();
  expect(jobOf([event("JobCreated", "connector batch runs it as job 7", "user")])).toBeUndefined();
  const told = jobOf([event("JobCreated", "connector batch runs it as job 7 of 9"), event("Job", "queued"), event("Job", "stage 2"), event("Pulled", "x", "kubelet")]);
  expect(told).toMatchObject({ connector: "batch", job: "7 of 9", said: { message: "stage 2" } });
  expect(jobOf([event("JobCreated", "connector apps/p/d/tools runs it")])).toMatchObject({ connector: "apps/p/d/tools", job: "", said: undefined });
});

it("knows connectors that are apps", () => {
  expect(appOf("batch")).toBeUndefined();
  expect(appOf("apps/p/d/tools")).toEqual({ project: "p", domain: "d", app: "tools" });
});

it("keeps the last value of a long curve", () => {
  const samples = Array.from({ length: 500 }, (_, value) => ({ $typeName: "flytebinary.insight.v1.JobSample" as const, value }));
  const { values, max } = curveOf({ samples });
  expect(values.length).toBeLessThanOrEqual(120);
  expect(values.at(-1)).toBe(499);
  expect(max).toBeGreaterThan(499);
  expect(curveOf({ samples: [] })).toEqual({ values: [], max: 1.25 });
});
