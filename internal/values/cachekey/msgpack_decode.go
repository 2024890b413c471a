package cachekey

import (
	"encoding/binary"
	"math"
	"math/big"
)

// decoder consumes its data.
type decoder struct{ data []byte }

func (d *decoder) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.data) {
		return nil, errMalformed
	}
	taken := d.data[:n]
	d.data = d.data[n:]
	return taken, nil
}

// number reads an unsigned number of size bytes.
func (d *decoder) number(size int) (uint64, error) {
	raw, err := d.take(size)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[8-size:], raw)
	return binary.BigEndian.Uint64(wide[:]), nil
}

func (d *decoder) length(size int) (int, error) {
	n, err := d.number(size)
	if err != nil || n > math.MaxInt32 {
		return 0, errMalformed
	}
	return int(n), nil
}

func (d *decoder) value(depth int) (node, error) {
	n, _, err := d.keyed(depth)
	return n, err
}

// keyed reads a value and what makes it equal to another as a key; that is empty for what cannot be a key.
func (d *decoder) keyed(depth int) (node, string, error) {
	head, err := d.take(1)
	if err != nil || depth > maxDepth {
		return node{}, "", errMalformed
	}
	code := head[0]
	switch {
	case code < 0x80:
		return integer(big.NewInt(int64(code)))
	case code >= 0xe0:
		return integer(big.NewInt(int64(int8(code)))) //nolint:gosec // the form of small negative numbers
	case code < 0x90:
		return d.mapping(int(code&0x0f), depth)
	case code < 0xa0:
		return d.array(int(code&0x0f), depth)
	case code < 0xc0:
		return d.text(int(code & 0x1f))
	}
	switch code {
	case 0xc0:
		return scalar(head), "nil", nil
	case 0xc2:
		return scalar(head), "n0", nil // as Python has it, false equals 0
	case 0xc3:
		return scalar(head), "n1", nil
	case 0xca, 0xcb:
		return d.float(code)
	case 0xcc, 0xcd, 0xce, 0xcf:
		v, err := d.number(1 << (code - 0xcc))
		return integerOr(new(big.Int).SetUint64(v), err)
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := 1 << (code - 0xd0)
		v, err := d.number(size)
		shift := 64 - 8*size
		return integerOr(big.NewInt(int64(v<<shift)>>shift), err) //nolint:gosec // sign extension
	}
	return d.sized(code, depth)
}

// sized reads what has a length after its code.
func (d *decoder) sized(code byte, depth int) (node, string, error) {
	sizes := map[byte]int{
		0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4,
	}
	if code >= 0xd4 && code <= 0xd8 {
		return d.extension(1 << (code - 0xd4))
	}
	size, ok := sizes[code]
	if !ok {
		return node{}, "", errMalformed
	}
	n, err := d.length(size)
	if err != nil {
		return node{}, "", err
	}
	switch code {
	case 0xc4, 0xc5, 0xc6:
		return d.bytes(n)
	case 0xc7, 0xc8, 0xc9:
		return d.extension(n)
	case 0xd9, 0xda, 0xdb:
		return d.text(n)
	case 0xdc, 0xdd:
		return d.array(n, depth)
	default:
		return d.mapping(n, depth)
	}
}

// integer is a number of 64 bits, signed or not. Its text makes it equal to the same number as a float.
func integer(v *big.Int) (node, string, error) {
	if v.IsInt64() {
		return scalar(appendInt(nil, v.Int64())), "n" + v.String(), nil
	}
	return scalar(appendUint(nil, v.Uint64())), "n" + v.String(), nil
}

func integerOr(v *big.Int, err error) (node, string, error) {
	if err != nil {
		return node{}, "", err
	}
	return integer(v)
}

func (d *decoder) float(code byte) (node, string, error) {
	size := 4 << (code - 0xca)
	bits, err := d.number(size)
	if err != nil {
		return node{}, "", err
	}
	v := math.Float64frombits(bits)
	if size == 4 {
		v = float64(math.Float32frombits(uint32(bits))) //nolint:gosec // four bytes
	}
	encoded := binary.BigEndian.AppendUint64([]byte{0xcb}, math.Float64bits(v))
	equal := "f" + string(encoded)
	if v == math.Trunc(v) && !math.IsInf(v, 0) { // equal to the integer
		whole, _ := big.NewFloat(v).Int(nil)
		equal = "n" + whole.String()
	}
	return scalar(encoded), equal, nil
}

func (d *decoder) text(n int) (node, string, error) {
	text, err := d.take(n)
	if err != nil || !validText(text) {
		return node{}, "", errMalformed
	}
	return scalar(append(appendLength(nil, n, 0xa0, 32, 0xd9, 0xda, 0xdb), text...)), "s" + string(text), nil
}

func (d *decoder) bytes(n int) (node, string, error) {
	data, err := d.take(n)
	if err != nil {
		return node{}, "", err
	}
	return scalar(append(appendLength(nil, n, 0, 0, 0xc4, 0xc5, 0xc6), data...)), "b" + string(data), nil
}

func (d *decoder) array(n, depth int) (node, string, error) {
	if n > len(d.data) { // an element has at least a byte
		return node{}, "", errMalformed
	}
	elements := make([]node, n)
	for i := range elements {
		var err error
		if elements[i], err = d.value(depth + 1); err != nil {
			return node{}, "", err
		}
	}
	return node{kind: kindArray, array: elements}, "", nil
}

func (d *decoder) mapping(n, depth int) (node, string, error) {
	if n > len(d.data)/2 { // an entry has at least two bytes
		return node{}, "", errMalformed
	}
	entries := make([]entry, n)
	for i := range entries {
		key, equal, err := d.keyed(depth + 1)
		if err != nil || equal == "" {
			return node{}, "", errMalformed // lists and maps are not keys
		}
		value, err := d.value(depth + 1)
		if err != nil {
			return node{}, "", err
		}
		entries[i] = entry{key: key.encoded, equal: equal, value: value}
	}
	return mapOf(entries), "", nil
}

// timestampCode is the extension for points in time, which keep their form.
const timestampCode = 0xff

func (d *decoder) extension(n int) (node, string, error) {
	// The code of the extension comes before its data, and is not in its length.
	raw, err := d.take(n + 1)
	if err != nil {
		return node{}, "", err
	}
	code, data := raw[0], raw[1:]
	if code >= 0x80 && code != timestampCode {
		return node{}, "", errMalformed // negative codes are not for users
	}
	if code == timestampCode {
		if data, err = shortTimestamp(data); err != nil {
			return node{}, "", err
		}
	}
	var encoded []byte
	switch len(data) {
	case 1, 2, 4, 8, 16:
		encoded = append(encoded, map[int]byte{1: 0xd4, 2: 0xd5, 4: 0xd6, 8: 0xd7, 16: 0xd8}[len(data)])
	default:
		encoded = appendLength(encoded, len(data), 0, 0, 0xc7, 0xc8, 0xc9)
	}
	encoded = append(append(encoded, code), data...)
	result := node{encoded: encoded}
	if code != timestampCode {
		result.ext = &extension{code: code, data: data}
	}
	return result, "x" + string(encoded), nil
}

// shortTimestamp brings a timestamp to its shortest form. The specification has forms of 4, 8 and 12 bytes: seconds,
// seconds of 34 bits with nanoseconds, and both in full.
func shortTimestamp(data []byte) ([]byte, error) {
	var seconds int64
	var nanos uint64
	switch len(data) {
	case 4:
		return data, nil
	case 8:
		both := binary.BigEndian.Uint64(data)
		nanos, seconds = both>>34, int64(both&(1<<34-1))
	case 12:
		nanos = uint64(binary.BigEndian.Uint32(data))
		seconds = int64(binary.BigEndian.Uint64(data[4:])) //nolint:gosec // two's complement
	default:
		return nil, errMalformed
	}
	switch {
	case nanos > 999_999_999:
		return nil, errMalformed
	case seconds>>34 != 0:
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(nanos)), uint64(seconds)), nil
	case nanos == 0 && seconds <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(nil, uint32(seconds)), nil
	default:
		return binary.BigEndian.AppendUint64(nil, nanos<<34|uint64(seconds)), nil
	}
}
