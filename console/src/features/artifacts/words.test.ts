import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { ArtifactSchema, ArtifactSpecSchema } from "@gen/flyteidl2/artifact/artifact_pb.js";
import { Granularity } from "@gen/flyteidl2/core/artifact_id_pb.js";
import { LiteralSchema } from "@gen/flyteidl2/core/literals_pb.js";
import { kindOf, partitionsOf, placeOfValue } from "./words";

const at = (granularity: Granularity) =>
  create(ArtifactSpecSchema, {
    timePartition: { key: "date", granularity, value: { value: { case: "timeValue", value: timestampFromDate(new Date("2030-05-01T07:00:00Z")) } } },
    partitions: { value: { zone: { value: { case: "staticValue", value: "a" } }, region: { value: { case: "staticValue", value: "us" } } } },
  });

it("shows the time as fine as it is, and the other keys in order", () => {
  expect(partitionsOf(at(Granularity.DAY))).toEqual([
    ["date", "2030-05-01"],
    ["region", "us"],
    ["zone", "a"],
  ]);
  expect(partitionsOf(at(Granularity.HOUR))[0]).toEqual(["date", "2030-05-01T07:00Z"]);
  expect(partitionsOf(at(Granularity.MONTH))[0]).toEqual(["date", "2030-05"]);
  expect(partitionsOf(undefined)).toEqual([]);
});

it("takes the kind of the metadata before that of the card", () => {
  expect(kindOf(create(ArtifactSchema, { spec: { info: { userMetadata: { "flyte.io/kind": "model" }, card: { type: "data" } } } }))).toBe("model");
  expect(kindOf(create(ArtifactSchema, { spec: { info: { card: { type: "data" } } } }))).toBe("data");
  expect(kindOf(undefined)).toBe("");
});

it("finds where a value lies", () => {
  const blob = create(LiteralSchema, { value: { case: "scalar", value: { value: { case: "blob", value: { uri: "s3://b/x" } } } } });
  expect(placeOfValue(blob)).toBe("s3://b/x");
  expect(placeOfValue(create(LiteralSchema, { value: { case: "scalar", value: { value: { case: "union", value: { value: blob } } } } }))).toBe("s3://b/x");
  expect(placeOfValue(undefined)).toBe("");
});
