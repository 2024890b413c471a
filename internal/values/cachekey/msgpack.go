package cachekey

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"unicode/utf8"
)

// canonicalMsgpack encodes a msgpack value again, with the entries of all maps in the order of their encoded keys and
// everything in its shortest form. Data that are not a single msgpack value are returned as they are. It follows what the
// Python library makes of such data, since the SDK uses that: single floats become double ones, and the last of two
// equal keys counts.
func canonicalMsgpack(data []byte) []byte {
	d := &decoder{data: data}
	root, err := d.value(0)
	if err != nil || len(d.data) > 0 {
		return data
	}
	return root.append(nil)
}

// maxDepth is about what the Python library and its interpreter take; what is nested deeper stays as it is.
const maxDepth = 400

var errMalformed = errors.New("malformed msgpack")

// node is a decoded value: its encoding, or its elements, or its entries.
type node struct {
	encoded []byte // of anything but arrays and maps
	array   []node
	entries []entry
	kind    byte
	ext     *extension // alongside encoded
}

type entry struct {
	key   []byte // encoded
	equal string // what makes keys equal
	value node
}

type extension struct {
	code byte
	data []byte
}

const (
	kindScalar byte = iota
	kindArray
	kindMap
)

func (n *node) append(out []byte) []byte {
	switch {
	case n.ext != nil:
		// The SDK takes an extension for a tuple of code and data.
		out = append(out, 0x92)
		out = appendInt(out, int64(int8(n.ext.code))) //nolint:gosec // codes are signed bytes
		return append(appendLength(out, len(n.ext.data), 0, 0, 0xc4, 0xc5, 0xc6), n.ext.data...)
	case n.kind == kindArray:
		out = appendLength(out, len(n.array), 0x90, 16, 0, 0xdc, 0xdd)
		for i := range n.array {
			out = n.array[i].append(out)
		}
		return out
	case n.kind == kindMap:
		out = appendLength(out, len(n.entries), 0x80, 16, 0, 0xde, 0xdf)
		for i := range n.entries {
			out = n.entries[i].value.append(append(out, n.entries[i].key...))
		}
		return out
	default:
		return append(out, n.encoded...)
	}
}

// appendLength writes the head of something with a length: in the head's own byte below fixed, else after a code for
// one, two or four bytes. A code of 0 does not exist.
func appendLength(out []byte, n int, fix byte, fixed int, code8, code16, code32 byte) []byte {
	switch {
	case n < fixed:
		return append(out, fix|byte(n)) //nolint:gosec // below fixed
	case code8 != 0 && n <= math.MaxUint8:
		return append(out, code8, byte(n)) //nolint:gosec // checked
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, code16), uint16(n)) //nolint:gosec // checked
	default:
		return binary.BigEndian.AppendUint32(append(out, code32), uint32(n)) //nolint:gosec // data are shorter
	}
}

// appendInt and appendUint write a number in its shortest form.
func appendInt(out []byte, v int64) []byte {
	switch {
	case v >= 0:
		return appendUint(out, uint64(v))
	case v >= -32:
		return append(out, byte(v)) //nolint:gosec // the form of small negative numbers
	case v >= math.MinInt8:
		return append(out, 0xd0, byte(v)) //nolint:gosec // two's complement
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(v)) //nolint:gosec // two's complement
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(v)) //nolint:gosec // two's complement
	default:
		return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(v)) //nolint:gosec // two's complement
	}
}

func appendUint(out []byte, v uint64) []byte {
	switch {
	case v < 128:
		return append(out, byte(v))
	case v <= math.MaxUint8:
		return append(out, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(out, 0xcf), v)
	}
}

// mapOf keeps the last value of equal keys and sorts by the encoding of keys.
func mapOf(entries []entry) node {
	seen := make(map[string]int, len(entries))
	kept := entries[:0:0]
	for _, e := range entries {
		if i, ok := seen[e.equal]; ok {
			kept[i].value = e.value // under the first of the keys
			continue
		}
		seen[e.equal] = len(kept)
		kept = append(kept, e)
	}
	slices.SortStableFunc(kept, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	return node{kind: kindMap, entries: kept}
}

func scalar(encoded []byte) node { return node{encoded: encoded} }

func validText(text []byte) bool { return utf8.Valid(text) }
