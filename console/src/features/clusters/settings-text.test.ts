import { expect, it } from "vitest";
import { labelsOf, labelText, namesOf, weightOf } from "./settings-text";

it("reads labels as they were written", () => {
  const labels = { region: "eu-north-1", "example.com/tier": "", note: "a=b" };
  expect(labelsOf(labelText(labels))).toEqual(labels);
  expect(labelsOf("")).toEqual({});
  expect(labelsOf("\n region = eu \n")).toEqual({ region: "eu" });
});

it("refuses what is no label", () => {
  for (const text of ["region", "=eu", " = eu", "a=1\na=2"]) expect(labelsOf(text), text).toBeUndefined();
});

it("reads names and weights", () => {
  expect(namesOf(" gpu, cheap gpu ")).toEqual(["gpu", "cheap"]);
  expect(namesOf("")).toEqual([]);
  expect(weightOf("1000")).toBe(1000);
  for (const text of ["", "-1", "1001", "1.5", "two"]) expect(weightOf(text), text).toBeUndefined();
});
