// @vitest-environment happy-dom
import { create, equals } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { RelationType } from "@gen/flyteidl2/common/run_pb.js";
import { CacheLookupScope, RunSpecSchema } from "@gen/flyteidl2/task/run_pb.js";
import { TaskSpecSchema } from "@gen/flyteidl2/task/task_definition_pb.js";
import { relatedSpec } from "./related-run";
import { checkOptions, optionsOf, runSpecOf } from "./options";
import { newRunName, wrongRunName } from "./run-name";
import { Names } from "./submit";

const full = create(RunSpecSchema, {
  labels: { values: { team: "blue" } },
  annotations: { values: { note: "x" } },
  envs: {
    values: [
      { key: "A", value: "1" },
      { key: "_F_SYS_PATH", value: "./" },
    ],
  },
  interruptible: false,
  queue: "gpu",
  rawDataStorage: { rawDataPrefix: "s3://b/raw" },
  securityContext: { runAs: { k8sServiceAccount: "me", iamRole: "role" } },
  cacheConfig: { cacheLookupScope: CacheLookupScope.PROJECT_DOMAIN },
  maxActionConcurrency: 5,
  runBaseDir: "s3://b/base",
});

describe("options", () => {
  it("of a spec make the same spec again", () => expect(equals(RunSpecSchema, runSpecOf(optionsOf(full), full), full)).toBe(true));
  it("of nothing are those of other clients", () => {
    const spec = runSpecOf(optionsOf(undefined), undefined);
    expect(spec.cacheConfig?.cacheLookupScope).toBe(CacheLookupScope.GLOBAL);
    expect([spec.interruptible, spec.securityContext, spec.rawDataStorage, spec.queue, spec.maxActionConcurrency]).toEqual([
      undefined,
      undefined,
      undefined,
      "",
      0,
    ]);
  });
  it("become the fields of a request", () => {
    const spec = runSpecOf(
      {
        ...optionsOf(full),
        labels: [
          ["a ", "b"],
          ["", ""],
        ],
        queue: "",
        concurrency: "8",
        overwriteCache: true,
        interruptible: "yes",
        serviceAccount: "other",
        rawData: "",
      },
      full,
    );
    expect(spec.labels?.values).toEqual({ a: "b" });
    expect([spec.queue, spec.maxActionConcurrency, spec.cacheConfig?.overwriteCache, spec.interruptible, spec.rawDataStorage]).toEqual([
      "",
      8,
      true,
      true,
      undefined,
    ]);
    expect(spec.securityContext?.runAs).toMatchObject({ k8sServiceAccount: "other", iamRole: "role" });
    expect(full.securityContext?.runAs?.k8sServiceAccount).toBe("me");
  });
  it("never inherit where a run came from", () => {
    const old = create(RunSpecSchema, { relation: { relationType: RelationType.RECOVER }, recover: { forceRerunActions: ["x"] } });
    const spec = runSpecOf(optionsOf(old), old);
    expect([spec.relation, spec.recover]).toEqual([undefined, undefined]);
  });
  it("are refused by name", () => {
    const wrong = checkOptions({
      ...optionsOf(undefined),
      name: "Run",
      concurrency: "1",
      labels: [
        ["a", "1"],
        ["a", "2"],
      ],
      env: [["1x", ""]],
      annotations: [["", "v"]],
    });
    expect([...wrong.keys()].sort()).toEqual(["annotations", "concurrency", "env", "labels", "name"]);
  });
});

describe("a run that is made of another", () => {
  const run = { project: "p", domain: "d", name: "r1" };
  const source = { run, action: "a0", spec: create(TaskSpecSchema), runSpec: full, inputs: undefined };
  it("says so", () => {
    const spec = relatedSpec(full, source, RelationType.RECOVER, ["x1"]);
    expect(spec.relation).toMatchObject({ relationType: RelationType.RECOVER, relatedTo: run });
    expect(spec.recover?.forceRerunActions).toEqual(["x1"]);
    expect(full.relation).toBeUndefined();
  });
  it("has no variable twice that its task brings itself", () => {
    const spec = create(TaskSpecSchema, { taskTemplate: { target: { case: "container", value: { env: [{ key: "_F_SYS_PATH", value: "./" }] } } } });
    expect(relatedSpec(full, { ...source, spec }, RelationType.RERUN).envs?.values.map(({ key }) => key)).toEqual(["A"]);
    expect(relatedSpec(full, source, RelationType.RERUN).envs?.values).toHaveLength(2);
  });
});

describe("names of runs", () => {
  it("are new, and what the server takes", () => {
    const names = Array.from({ length: 50 }, newRunName);
    expect(new Set(names).size).toBe(50);
    expect(names.every((name) => wrongRunName(name) === "" && name.length === 20)).toBe(true);
  });
  it("are the same for the same request, so that a second try makes no second run", () => {
    const names = new Names();
    const first = names.for("a");
    expect(names.for("a")).toBe(first);
    expect(names.for("b")).not.toBe(first);
  });
});
