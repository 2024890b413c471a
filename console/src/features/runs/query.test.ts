import { expect, it } from "vitest";
import { parseQuery } from "./query";

it.each([
  ["train", { text: "train" }],
  ["my train", { text: "my train" }],
  ["churn-nightly-1126", { text: "churn-nightly-1126" }],
  ["rsk27mbzl8gwkwz752m2", { q: "rsk27mbzl8gwkwz752m2" }],
  ["name:night task:=pkg.main", { q: "night", task: "=pkg.main" }],
  ["phase:failed,timed-out owner:ada since:24h", { phases: "failed,timed-out", owner: "ada", since: "24h" }],
  ["label:team=ml label:gpu", { labels: ["team=ml", "gpu"] }],
  ['label:"note=two words" source:cli', { labels: ["note=two words"], source: "cli" }],
  ["cluster:east train", { cluster: "east", text: "train" }],
  ["is:paused until:2026-03-01T00:00:00Z", { paused: true, until: "2026-03-01T00:00:00Z" }],
  ["", {}],
])("%j is understood", (typed, patch) => expect(parseQuery(typed)).toEqual({ patch, wrong: [] }));

it("says what it does not understand, and takes the rest", () =>
  expect(parseQuery("phase:purple is:blue size:3 owner:ada")).toEqual({ patch: { owner: "ada" }, wrong: ["phase:purple", "is:blue", "size:3"] }));

it("adds to the labels that are there", () => expect(parseQuery("label:b=2", { labels: ["a=1"] }).patch).toEqual({ labels: ["a=1", "b=2"] }));
