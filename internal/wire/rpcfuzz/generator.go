// Package rpcfuzz attacks the rpcs of a running server with requests of their own shape, with damaged bytes and with
// JSON, and judges the answers: whatever a caller sends, the server must neither fail internally nor exceed the
// deadline of the call.
package rpcfuzz

import (
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// generator draws requests.
type generator struct {
	*rand.Rand
	words []string // that exist in the server, so that some requests reach further
	left  int      // how many more messages the request may have
	known bool     // the request has hardly any other texts than words
}

// maxMessages bounds a request, whose types contain each other.
const maxMessages = 200

// request draws a message that is sent.
func (g *generator) request(d protoreflect.MessageDescriptor) proto.Message {
	g.left, g.known = maxMessages, g.IntN(3) > 0
	return g.message(d, 1+g.IntN(6))
}

// odd are texts that programs handle badly.
var odd = []string{
	"", " ", ".", "..", "../x", "a/b", `a\b`, "/etc/passwd", "file:///etc/passwd", "s3://bucket/key", "http://127.0.0.1:1/", "%2e%2e%2f", "%00",
	"\x00", "a\x00b", "\u202egnp.exe", "\u200b", "e\u0301", "\ufeff", "Ａ", "😀", "'; DROP TABLE actions; --", `"`, "<script>alert(1)</script>", "{{.inputs}}",
	"${jndi:ldap://x}", "%s%n", "-1", "1e400", "NaN", "true", "null", "[]", "{}", strings.Repeat("a", 64), strings.Repeat("é", 300), strings.Repeat("x/", 2000),
	"a0", "uploads", "offloaded-inputs", "kube-system", "default", "core-sleep", "python",
}

func (g *generator) text() string {
	if g.known && g.IntN(20) > 0 {
		return g.words[g.IntN(len(g.words))]
	}
	switch g.IntN(4) {
	case 0:
		return odd[g.IntN(len(odd))]
	case 1:
		return g.words[g.IntN(len(g.words))] + odd[g.IntN(len(odd))]
	default:
		return g.words[g.IntN(len(g.words))]
	}
}

func (g *generator) blob() []byte {
	b := make([]byte, g.IntN(40))
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

func (g *generator) integer() int64 {
	edges := []int64{0, 1, -1, 2, 10, 100, math.MaxInt32, math.MinInt32, math.MaxUint32, math.MaxInt64, math.MinInt64}
	return edges[g.IntN(len(edges))]
}

func (g *generator) float() float64 {
	edges := []float64{0, -0.0, 1, -1, 0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.NaN()}
	return edges[g.IntN(len(edges))]
}

// message draws a message of a type; depth bounds what it contains.
func (g *generator) message(d protoreflect.MessageDescriptor, depth int) proto.Message {
	m := dynamicpb.NewMessage(d)
	g.left--
	fields := d.Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() != nil && (depth <= 0 || g.left <= 0) || g.IntN(5) == 0 {
			continue
		}
		if one := field.ContainingOneof(); one != nil && m.WhichOneof(one) != nil && g.IntN(2) == 0 {
			continue
		}
		switch {
		case field.IsMap():
			for range g.IntN(3) {
				key := g.scalar(field.MapKey()).MapKey()
				m.Mutable(field).Map().Set(key, g.value(field.MapValue(), depth-1))
			}
		case field.IsList():
			for range g.IntN(4) {
				m.Mutable(field).List().Append(g.value(field, depth-1))
			}
		default:
			m.Set(field, g.value(field, depth-1))
		}
	}
	return m
}

func (g *generator) value(field protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	if field.Message() == nil {
		return g.scalar(field)
	}
	return protoreflect.ValueOfMessage(g.message(field.Message(), depth).ProtoReflect())
}

func (g *generator) scalar(field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() { //nolint:exhaustive // messages and groups are not scalars
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(g.IntN(2) == 0)
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		if g.IntN(10) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(g.integer())) //nolint:gosec // an unknown number is the point
		}
		return protoreflect.ValueOfEnum(values.Get(g.IntN(values.Len())).Number())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(g.text())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(g.blob())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(g.float()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(g.float())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(g.integer())) //nolint:gosec // overflow is welcome
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(g.integer())) //nolint:gosec // overflow is welcome
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(g.integer())) //nolint:gosec // overflow is welcome
	default:
		return protoreflect.ValueOfInt64(g.integer())
	}
}

// damage changes some bytes of an encoded message, or cuts it off.
func (g *generator) damage(body []byte) []byte {
	if len(body) == 0 {
		return g.blob()
	}
	for range 1 + g.IntN(4) {
		body[g.IntN(len(body))] = byte(g.Uint32())
	}
	if g.IntN(3) == 0 {
		body = body[:g.IntN(len(body))]
	}
	return body
}
