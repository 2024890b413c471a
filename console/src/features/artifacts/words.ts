import type { Artifact, ArtifactSpec } from "@gen/flyteidl2/artifact/artifact_pb.js";
import { Granularity } from "@gen/flyteidl2/core/artifact_id_pb.js";
import type { Literal } from "@gen/flyteidl2/core/literals_pb.js";
import { dateOf } from "@/design/format";

/** The partition values of a version: the time first, then the others by key. */
export function partitionsOf(spec: ArtifactSpec | undefined): (readonly [key: string, value: string])[] {
  const found: (readonly [string, string])[] = [];
  const time = spec?.timePartition;
  if (time?.value?.value.case === "timeValue") {
    const iso = dateOf(time.value.value.value)?.toISOString() ?? "";
    const fine = time.granularity === Granularity.MINUTE || time.granularity === Granularity.HOUR;
    found.push([time.key, fine ? `${iso.slice(0, 16)}Z` : iso.slice(0, time.granularity === Granularity.MONTH ? 7 : 10)]);
  }
  const values = spec?.partitions?.value ?? {};
  for (const key of Object.keys(values).sort()) {
    const value = values[key]?.value;
    found.push([key, value?.case === "staticValue" ? value.value : ""]);
  }
  return found;
}

/** The partition values of a version on one line. */
export const partitionWords = (spec: ArtifactSpec | undefined): string =>
  partitionsOf(spec)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");

/** What the artifact is, as its publisher said; empty if unknown. */
export const kindOf = (artifact: Artifact | undefined): string =>
  artifact?.spec?.info?.userMetadata["flyte.io/kind"] ?? artifact?.spec?.info?.card?.type ?? "";

/** The URI of a value; empty if the value is stored with the artifact. */
export function placeOfValue(value: Literal | undefined): string {
  if (value?.value.case === "offloadedMetadata") return value.value.value.uri;
  if (value?.value.case !== "scalar") return "";
  const scalar = value.value.value.value;
  switch (scalar.case) {
    case "blob":
    case "schema":
    case "structuredDataset":
      return scalar.value.uri;
    case "union":
      return placeOfValue(scalar.value.value);
    default:
      return "";
  }
}
