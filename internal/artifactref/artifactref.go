// Package artifactref finds what values refer to: the artifacts that they come from, and the objects that they point to.
// It only walks messages and makes no request.
package artifactref

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

const (
	// MaxUses is the largest number of artifacts that Uses returns.
	MaxUses = 100
	// maxDepth is how deep values may be nested; what is deeper is not looked at. Protobuf decoders have such a limit, too.
	maxDepth = 100
)

// Version names a version of an artifact.
type Version struct{ Project, Domain, Name, Version string }

// Uses lists the artifacts that values carry as their identity, each once, in the order of the values; at most MaxUses.
func Uses(values []*task.NamedLiteral) []Version {
	var found []Version
	seen := map[Version]bool{}
	for _, value := range values {
		walk(value.GetValue(), 0, func(l *core.Literal) {
			key := l.GetArtifactId().GetKey()
			v := Version{key.GetProject(), key.GetDomain(), key.GetName(), l.GetArtifactId().GetVersion()}
			if v.Name == "" || v.Version == "" || seen[v] || len(found) == MaxUses {
				return
			}
			seen[v] = true
			found = append(found, v)
		})
	}
	return found
}

// URIs lists the objects that a value points to, each once.
func URIs(value *core.Literal) []string {
	var found []string
	seen := map[string]bool{"": true}
	walk(value, 0, func(l *core.Literal) {
		for _, uri := range []string{
			l.GetOffloadedMetadata().GetUri(), l.GetScalar().GetBlob().GetUri(), l.GetScalar().GetSchema().GetUri(),
			l.GetScalar().GetStructuredDataset().GetUri(),
		} {
			if !seen[uri] {
				seen[uri] = true
				found = append(found, uri)
			}
		}
	})
	return found
}

func walk(l *core.Literal, depth int, visit func(*core.Literal)) {
	if l == nil || depth > maxDepth {
		return
	}
	visit(l)
	for _, item := range l.GetCollection().GetLiterals() {
		walk(item, depth+1, visit)
	}
	for _, item := range l.GetMap().GetLiterals() {
		walk(item, depth+1, visit)
	}
	walk(l.GetScalar().GetUnion().GetValue(), depth+1, visit)
}
