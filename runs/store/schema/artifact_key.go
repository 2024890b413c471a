package schema

// ArtifactKey names a version of an artifact.
type ArtifactKey struct{ Project, Domain, Name, Version string }
