// Package lineage infers which actions consumed the outputs of others, from their stored inputs and outputs.
//
// Clients pass values, not names of actions: an output becomes an input as an equal literal. Files, directories, data
// frames and offloaded values are references, whose URI identifies the producer. Any other value is inside the
// literal and is matched by equality. Numbers and short strings match by chance and are ignored. The result is
// therefore a heuristic. InsightService uses it on the blobs that it has read.
package lineage

import (
	"hash/maphash"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

const (
	// minText and minValue are the smallest lengths, in bytes, of a string and of another encoded value that are
	// matched.
	minText, minValue = 16, 32
	// maxKeys bounds the keys of one literal, and maxDepth how deep it is traversed.
	maxKeys, maxDepth = 10_000, 16
)

// key represents a reference or a value.
type key uint64

// reader finds the keys of literals.
type reader struct {
	seed   maphash.Seed
	buffer []byte
}

// keys appends the keys of a literal and of each of its parts: a list built from the results of several actions has
// the keys of each.
func (r *reader) keys(out []key, literal *core.Literal, depth int) []key {
	if depth > maxDepth || len(out) >= maxKeys {
		return out
	}
	switch value := literal.GetValue().(type) {
	case *core.Literal_OffloadedMetadata:
		return r.reference(out, value.OffloadedMetadata.GetUri())
	case *core.Literal_Collection:
		out = r.whole(out, literal)
		for _, part := range value.Collection.GetLiterals() {
			out = r.keys(out, part, depth+1)
		}
	case *core.Literal_Map:
		out = r.whole(out, literal)
		for _, part := range value.Map.GetLiterals() {
			out = r.keys(out, part, depth+1)
		}
	case *core.Literal_Scalar:
		return r.scalar(out, value.Scalar, depth)
	}
	return out
}

func (r *reader) scalar(out []key, scalar *core.Scalar, depth int) []key {
	switch value := scalar.GetValue().(type) {
	case *core.Scalar_Blob:
		return r.reference(out, value.Blob.GetUri())
	case *core.Scalar_StructuredDataset:
		return r.reference(out, value.StructuredDataset.GetUri())
	case *core.Scalar_Schema:
		return r.reference(out, value.Schema.GetUri())
	case *core.Scalar_Union:
		return r.keys(out, value.Union.GetValue(), depth+1)
	case *core.Scalar_Primitive:
		text := value.Primitive.GetStringValue()
		if len(text) < minText {
			return out
		}
		return append(out, r.hash('t', []byte(text)))
	case *core.Scalar_Binary:
		if len(value.Binary.GetValue()) < minValue {
			return out
		}
		return append(out, r.hash('b', value.Binary.GetValue()))
	case *core.Scalar_Generic:
		return r.message(out, value.Generic)
	}
	return out
}

// reference has two keys if the last part of the URI is a generated name: a client that passes a data frame on copies
// it into its own directory and keeps that name.
func (r *reader) reference(out []key, uri string) []key {
	if uri == "" {
		return out
	}
	out = append(out, r.hash('r', []byte(uri)))
	name := uri[strings.LastIndexByte(uri, '/')+1:]
	if !generated(name) {
		return out
	}
	return append(out, r.hash('n', []byte(name)))
}

// generated reports whether a name consists of at least 128 bits in hexadecimal digits.
func generated(name string) bool {
	return len(name) >= 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// whole is the key of a list or a map itself, without the metadata of the value.
func (r *reader) whole(out []key, literal *core.Literal) []key {
	return r.message(out, &core.Literal{Value: literal.GetValue()})
}

func (r *reader) message(out []key, message proto.Message) []key {
	var err error
	r.buffer, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(r.buffer[:0], message)
	if err != nil || len(r.buffer) < minValue {
		return out
	}
	return append(out, r.hash('v', r.buffer))
}

func (r *reader) hash(kind byte, body []byte) key {
	var h maphash.Hash
	h.SetSeed(r.seed)
	_ = h.WriteByte(kind) // never fails
	_, _ = h.Write(body)
	return key(h.Sum64())
}
