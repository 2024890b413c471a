import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import {
  AppSchema,
  AutoscalingConfigSchema,
  Spec_DesiredState,
  Status_DeploymentStatus as Deployment,
  Status_Substate as Substate,
} from "@gen/flyteidl2/app/app_definition_pb.js";
import { addressOf, linkAddress } from "./address";
import { appOf } from "./apps.fixture";
import { artifactOf, uriOf } from "./artifact-uri";
import { filtersOf, matches } from "./filters";
import { AppSearch, AppsSearch } from "./search";
import { isPassing, isWanted, rangeOf, scalingWords, shownAs, shownOf, statusNames } from "./words";

it.each([
  [Deployment.ACTIVE, Substate.RUNNING, "active", ""],
  [Deployment.ACTIVE, Substate.SCALED_TO_ZERO, "asleep", "starts on the next request"],
  [Deployment.ACTIVE, Substate.SCALING_FROM_ZERO, "active", "starting a replica for a request"],
  [Deployment.DEPLOYING, Substate.PULLING_IMAGE, "deploying", "pulling the image"],
  [Deployment.UNASSIGNED, Substate.SUBSTATE_UNSPECIFIED, "pending", ""],
  [Deployment.STOPPED, Substate.SUBSTATE_UNSPECIFIED, "stopped", ""],
  [Deployment.FAILED, Substate.OOM_KILLED, "failed", "out of memory"],
  [Deployment.UNSPECIFIED, Substate.SUBSTATE_UNSPECIFIED, "unknown", ""],
])("status %d, substate %d is %s", (status, substate, key, detail) => {
  const shown = shownAs(status, substate);
  expect([shown.look.key, shown.detail]).toEqual([key, detail]);
});

it("takes the state of an app from its last condition", () => {
  const failed = shownOf(appOf("a", { status: Deployment.FAILED, substate: Substate.CRASH_LOOP }));
  expect(failed).toMatchObject({ look: { label: "Failed" }, detail: "crashes repeatedly" });
  expect(shownOf(create(AppSchema)).look.label).toBe("Unknown");
  const passing = (status: Deployment) => isPassing(shownAs(status, Substate.RUNNING));
  expect([Deployment.PENDING, Deployment.DEPLOYING, Deployment.ACTIVE].map(passing)).toEqual([true, true, false]);
  expect([isWanted(appOf("a")), isWanted(appOf("a", { spec: { desiredState: Spec_DesiredState.STOPPED } }))]).toEqual([true, false]);
});

it("tells the scaling in words", () => {
  const scaling = (min: number, max: number, target = 0) =>
    create(AutoscalingConfigSchema, {
      replicas: { min, max },
      ...(target > 0 && { scalingMetric: { metric: { case: "concurrency" as const, value: { targetValue: target } } } }),
    });
  expect([rangeOf(scaling(0, 3)), rangeOf(scaling(2, 2)), rangeOf(undefined)]).toEqual(["0 to 3", "2", "0"]);
  expect([scalingWords(scaling(0, 3, 10)), scalingWords(scaling(0, 1))]).toEqual(["10 requests at a time per replica", ""]);
});

it("filters on the server and in the stream alike", () => {
  expect(filtersOf({ q: "chat", state: "pending", owner: "ada" }).map(({ field, values }) => [field, values])).toEqual([
    ["name", ["chat"]],
    ["status_phase", ["DEPLOYMENT_STATUS_PENDING", "DEPLOYMENT_STATUS_UNASSIGNED", "DEPLOYMENT_STATUS_ASSIGNED"]],
    ["created_by", ["ada"]],
  ]);
  expect(filtersOf({})).toEqual([]);
  expect(statusNames("stopped")).toEqual(["DEPLOYMENT_STATUS_STOPPED"]);
  const app = appOf("Chat-one");
  expect([{}, { q: "chat" }, { state: "active" as const }, { owner: "ada" }].map((search) => matches(app, search))).toEqual([true, true, true, true]);
  expect([{ q: "cat" }, { state: "failed" as const }, { owner: "" }, { owner: "Ada" }].map((search) => matches(app, search))).toEqual([false, false, false, false]);
});

it("keeps what it knows of a URL", () => {
  expect(AppsSearch({ q: 12, state: "failed", owner: "me", other: 1 })).toEqual({ q: "12", state: "failed", owner: "me" });
  expect(AppsSearch({ q: "", state: "gone", owner: {} })).toEqual({});
  expect(AppSearch({ tab: "logs", replica: "r-1", line: 3 })).toEqual({ tab: "logs", replica: "r-1", line: 3 });
  expect(AppSearch({ tab: "overview", replica: "", line: -1 })).toEqual({});
});

it("opens only web addresses, an app's own host first", () => {
  const ingress = appOf("a").status?.ingress;
  expect(addressOf(ingress, "http://a-1.localhost:8088")).toBe("http://a-1.localhost:8088");
  expect(addressOf(ingress)).toBe("http://localhost:8088/apps/p/d/a");
  expect(addressOf(appOf("a", { publicUrl: "javascript:alert(1)" }).status?.ingress)).toBeUndefined();
  const base = "http://h/apps/p/d/a";
  expect(linkAddress({ path: "/docs", isRelative: true }, base)).toBe("http://h/apps/p/d/a/docs");
  expect(linkAddress({ path: "/docs", isRelative: true }, undefined)).toBeUndefined();
  expect(linkAddress({ path: "https://elsewhere.example/x", isRelative: false }, base)).toBe("https://elsewhere.example/x");
  expect(linkAddress({ path: "javascript:alert(1)", isRelative: false }, base)).toBeUndefined();
});

it("reads and writes addresses of artifacts", () => {
  expect(artifactOf("flyte://artifacts/p/d/model@v1")).toEqual({ project: "p", domain: "d", name: "model", version: "v1" });
  expect(artifactOf("flyte://artifacts/p/d/model")).toMatchObject({ version: "" });
  expect(["s3://bucket/x", "flyte://artifacts/p/d/%", "flyte://artifacts/p"].map(artifactOf)).toEqual([undefined, undefined, undefined]);
  const id = { project: "p", domain: "d", name: "a b@c" };
  expect(artifactOf(uriOf({ key: { ...id, org: "" }, version: "1" } as Parameters<typeof uriOf>[0]))).toEqual({ ...id, version: "1" });
});
