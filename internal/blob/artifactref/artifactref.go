// Package artifactref finds what values refer to: the artifacts that they come from, and the objects that they point to.
// It only walks messages and makes no request.
package artifactref

import (
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

const (
	// MaxUses is the largest number of artifacts that Uses returns.
	MaxUses = 100
	// MaxData is the largest number of objects that Data returns.
	MaxData = 1000
	// maxDepth is how deep values may be nested; what is deeper is not looked at. Protobuf decoders have such a limit, too.
	maxDepth = 100
)

// Version names a version of an artifact.
type Version struct{ Project, Domain, Name, Version string }

// HasData reports whether values of a type may point to objects: files, directories, tables, also within collections.
func HasData(t *core.LiteralType) bool { return hasData(t, 0) }

func hasData(t *core.LiteralType, depth int) bool {
	if t == nil || depth > maxDepth {
		return false
	}
	switch of := t.GetType().(type) {
	case *core.LiteralType_Blob, *core.LiteralType_Schema, *core.LiteralType_StructuredDatasetType:
		return true
	case *core.LiteralType_CollectionType:
		return hasData(of.CollectionType, depth+1)
	case *core.LiteralType_MapValueType:
		return hasData(of.MapValueType, depth+1)
	case *core.LiteralType_UnionType:
		return slices.ContainsFunc(of.UnionType.GetVariants(), func(v *core.LiteralType) bool { return hasData(v, depth+1) })
	default:
		return false
	}
}

// Data lists the objects that values without an identity of their own point to, each once; at most MaxData.
func Data(values []*task.NamedLiteral) []string {
	var found []string
	seen := map[string]bool{}
	for _, value := range values {
		walk(value.GetValue(), 0, func(l *core.Literal) bool {
			if l.GetArtifactId().GetKey().GetName() != "" {
				return false
			}
			for _, uri := range pointers(l) {
				if uri != "" && !seen[uri] && len(found) < MaxData {
					seen[uri] = true
					found = append(found, uri)
				}
			}
			return true
		})
	}
	return found
}

// Uses lists the artifacts that values carry as their identity, each once, in the order of the values; at most MaxUses.
func Uses(values []*task.NamedLiteral) []Version {
	var found []Version
	seen := map[Version]bool{}
	for _, value := range values {
		walk(value.GetValue(), 0, func(l *core.Literal) bool {
			key := l.GetArtifactId().GetKey()
			v := Version{key.GetProject(), key.GetDomain(), key.GetName(), l.GetArtifactId().GetVersion()}
			if v.Name == "" || v.Version == "" || seen[v] || len(found) == MaxUses {
				return true
			}
			seen[v] = true
			found = append(found, v)
			return true
		})
	}
	return found
}

// URIs lists the objects that a value points to, each once.
func URIs(value *core.Literal) []string {
	var found []string
	seen := map[string]bool{"": true}
	walk(value, 0, func(l *core.Literal) bool {
		for _, uri := range pointers(l) {
			if !seen[uri] {
				seen[uri] = true
				found = append(found, uri)
			}
		}
		return true
	})
	return found
}

func pointers(l *core.Literal) [4]string {
	return [4]string{
		l.GetOffloadedMetadata().GetUri(), l.GetScalar().GetBlob().GetUri(), l.GetScalar().GetSchema().GetUri(),
		l.GetScalar().GetStructuredDataset().GetUri(),
	}
}

// walk visits a value and what it contains, except below values for which visit returns false.
func walk(l *core.Literal, depth int, visit func(*core.Literal) bool) {
	if l == nil || depth > maxDepth || !visit(l) {
		return
	}
	for _, item := range l.GetCollection().GetLiterals() {
		walk(item, depth+1, visit)
	}
	for _, item := range l.GetMap().GetLiterals() {
		walk(item, depth+1, visit)
	}
	walk(l.GetScalar().GetUnion().GetValue(), depth+1, visit)
}
