import type { ArtifactVersionId } from "@gen/flyteidl2/core/artifact_id_pb.js";

/** A version of an artifact. */
export interface ArtifactRef {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  /** Empty for the newest. */
  readonly version: string;
}

/** The artifact of an address such as flyte://artifacts/PROJECT/DOMAIN/NAME@VERSION; undefined if it is none. */
export function artifactOf(uri: string): ArtifactRef | undefined {
  const [, project = "", domain = "", name = "", version = ""] = /^flyte:\/\/artifacts\/([^/]+)\/([^/]+)\/([^/@]+)(?:@([^/@]+))?$/.exec(uri) ?? [];
  if (name === "") return undefined;
  try {
    return { project: decodeURIComponent(project), domain: decodeURIComponent(domain), name: decodeURIComponent(name), version: decodeURIComponent(version) };
  } catch {
    return undefined;
  }
}

export function uriOf({ key, version }: ArtifactVersionId): string {
  const parts = [key?.project ?? "", key?.domain ?? "", key?.name ?? ""].map(encodeURIComponent);
  return `flyte://artifacts/${parts.join("/")}${version && `@${encodeURIComponent(version)}`}`;
}
