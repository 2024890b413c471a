import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FigureSchema, SettingSchema } from "@gen/flytebinary/insight/v1/system_pb.js";
import { SystemSearch } from "./search";
import { amount, filterSettings, groupsOf, repairWords, points, addToHistory, historyLength, shortly } from "./words";

test("metrics are formatted with their units", () => {
  expect(amount(0.00042, "s")).toBe("0.4 ms");
  expect(amount(0.00002, "s")).toBe("< 0.1 ms");
  expect(amount(0, "s")).toBe("0 ms");
  expect(amount(75, "s")).toBe("1 m 15 s");
  expect(amount(9_166_183, "bytes")).toBe("8.7 MiB");
  expect(amount(12345, "")).toBe("12,345");
  expect(amount(0.5, "")).toBe("0.50");
  expect(amount(2.34, "1/s")).toBe("2.3 /s");
  expect(shortly(250)).toBe("250 ms");
});

const figure = (group: string, name: string, value: number) => create(FigureSchema, { group, name, value });

test("groups keep the order of the server", () => {
  expect(groupsOf([figure("B", "x", 1), figure("A", "y", 2), figure("B", "z", 3)]).map(([name, some]) => [name, some.map((one) => one.name)])).toEqual([
    ["B", ["x", "z"]],
    ["A", ["y"]],
  ]);
});

test("a history is bounded, and drops metrics that are gone", () => {
  let history = addToHistory(new Map(), [figure("A", "x", 0), figure("A", "gone", 1)]);
  for (let value = 1; value <= historyLength + 5; value++) history = addToHistory(history, [figure("A", "x", value)]);
  expect([...history.keys()]).toEqual(["A/x"]);
  expect(history.get("A/x")).toHaveLength(historyLength);
  expect(history.get("A/x")?.at(-1)).toBe(historyLength + 5);
});

test("a line is drawn where something changes, the latest at the right", () => {
  expect(points([3])).toBe("");
  expect(points([3, 3, 3])).toBe("");
  expect(points([1, 3, 2])).toBe("0.966,1.000 0.983,0.000 1.000,0.500");
});

const settings = [
  create(SettingSchema, { key: "server.listen", value: "127.0.0.1:8090", isDefault: true }),
  create(SettingSchema, { key: "storage.url", value: "s3://Bucket/data", isDefault: false }),
  create(SettingSchema, { key: "storage.sync", value: "true", isDefault: true }),
];

test("settings are found by every word in key or value", () => {
  const found = (q: string, changed = false) => filterSettings(settings, q, changed).map((one) => one.key);
  expect(found("")).toHaveLength(3);
  expect(found("STORAGE bucket")).toEqual(["storage.url"]);
  expect(found("", true)).toEqual(["storage.url"]);
  expect(found("sync", true)).toEqual([]);
});

test("unknown kinds are shown by name", () => {
  expect(repairWords("pod_orphaned")).toContain("without a TaskAction");
  expect(repairWords("new_kind")).toBe("new kind");
});

test("invalid URL parameters are ignored", () => {
  expect(SystemSearch({ q: "db", changed: true, other: 1 })).toEqual({ q: "db", changed: true });
  expect(SystemSearch({ q: "", changed: "yes" })).toEqual({});
});
