import { Link } from "@tanstack/react-router";
import type { ArtifactVersionId } from "@gen/flyteidl2/core/artifact_id_pb.js";

/** A version of an artifact, with a link to its page. */
export function VersionLink({ artifact }: { readonly artifact: ArtifactVersionId }) {
  const { project = "", domain = "", name = "" } = artifact.key ?? {};
  return (
    <Link to="/domain/$domain/project/$project/artifacts/$artifact" params={{ domain, project, artifact: name }} search={{ version: artifact.version }}>
      {name}@{artifact.version}
    </Link>
  );
}
