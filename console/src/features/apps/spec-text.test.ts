import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { AppTrafficSchema } from "@gen/flytebinary/insight/v1/apps_pb.js";
import type { Spec } from "@gen/flyteidl2/app/app_definition_pb.js";
import { specOf } from "./apps.fixture";
import { loadsOf, number } from "./load";
import { changesOf, textsOf } from "./spec-text";

const withEnvironment = (env: { readonly key: string; readonly value: string }[], image = "i"): Spec =>
  specOf({ appPayload: { case: "container", value: { image, env } } });

it("names what changed", () => {
  const before = specOf();
  expect(changesOf(before, specOf())).toEqual([]);
  expect(changesOf(before, specOf({ autoscaling: { replicas: { min: 1, max: 3 } } }))).toEqual(["scaling"]);
  expect(changesOf(withEnvironment([]), withEnvironment([{ key: "A", value: "1" }], "j"))).toEqual(["image", "environment"]);
  expect(changesOf(before, specOf({ images: { images: [{ tag: "x" }] } }))).toEqual(["other settings"]);
});

it("does not count who deployed it, or whether it is stopped", () => {
  expect(changesOf(specOf(), specOf({ creator: { principal: { case: undefined } }, desiredState: 1 }))).toEqual([]);
  expect(textsOf(specOf(), specOf()).after).not.toContain("Ada");
});

it("hides values that may be secrets, and says when they changed", () => {
  const [a, b] = [withEnvironment([{ key: "API_TOKEN", value: "old-one" }]), withEnvironment([{ key: "API_TOKEN", value: "new-one" }])];
  const { before, after } = textsOf(a, b);
  expect(`${before}${after}`).not.toContain("-one");
  expect([before.includes('"(hidden)"'), after.includes('"(hidden, changed)"')]).toEqual([true, true]);
  expect(textsOf(a, a).after).toBe(textsOf(a, a).before);
  const pod = specOf({ appPayload: { case: "pod", value: { podSpec: { containers: [{ name: "app", env: [{ name: "PASSWORD", value: "in-a-pod" }] }] } } } });
  const input = specOf({ inputs: { items: [{ name: "password", value: { case: "stringValue", value: "in-an-input" } }] } });
  expect(textsOf(pod, input).before + textsOf(pod, input).after).not.toMatch(/in-a/);
});

it("turns traffic into rates", () => {
  const [load] = loadsOf([
    create(AppTrafficSchema, {
      ...{ start: { seconds: 60n }, length: { seconds: 30n }, requests: 300n, errors: 30n },
      ...{ concurrency: 1.5, p50: { nanos: 2_000_000 }, replicas: 2 },
    }),
  ]);
  expect(load).toMatchObject({ from: 60_000, to: 90_000, answered: 9, failed: 1, p50: 2, p99: undefined, replicas: 2 });
  expect(loadsOf([create(AppTrafficSchema, { requests: 3n })])[0]).toMatchObject({ answered: 0, failed: 0 });
  expect([0.049, 3.24, 123.4].map(number)).toEqual(["0.05", "3.2", "123"]);
});
