package listquery

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// layouts are the time formats that clients send. A time without a zone is UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02"}

// parse parses one value of the field to the type that is bound: string, int64, time.Time or bool.
func (f Field) parse(text string) (any, error) {
	switch f.Type {
	case Small:
		return f.parseInt(text, math.MinInt16, math.MaxInt16)
	case Int:
		return f.parseInt(text, math.MinInt32, math.MaxInt32)
	case BigInt:
		return f.parseInt(text, math.MinInt64, math.MaxInt64)
	case Time:
		return ParseTime(text)
	case Bool:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return value, nil
	default:
		if strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("a text must not contain NUL")
		}
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("a text must be UTF-8")
		}
		return text, nil
	}
}

func (f Field) parseInt(text string, lowest, highest int64) (any, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		if value, ok := f.Names[strings.ToLower(text)]; ok {
			return value, nil
		}
		if f.Names != nil {
			return nil, fmt.Errorf("%q is neither a number nor a known name", text)
		}
		return nil, fmt.Errorf("%q is not a whole number", text)
	}
	if number < lowest || number > highest {
		return nil, fmt.Errorf("%s is out of range", text)
	}
	return number, nil
}

// ParseTime parses a time of a filter. The result is in UTC, truncated to microseconds.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range layouts {
		if value, err := time.Parse(layout, text); err == nil {
			return value.UTC().Truncate(time.Microsecond), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not an RFC 3339 time", text)
}

// array converts values to a slice of one Go type, as a parameter of an array type requires.
func (f Field) array(values []any) any {
	switch f.Type {
	case Small, Int, BigInt:
		return typed[int64](values)
	case Time:
		return typed[time.Time](values)
	case Bool:
		return typed[bool](values)
	default:
		return typed[string](values)
	}
}

func typed[T any](values []any) []T {
	out := make([]T, 0, len(values))
	for _, value := range values {
		out = append(out, value.(T)) //nolint:forcetypeassert // parse gave exactly this type
	}
	return out
}

// EnumNames returns the names of a protobuf enumeration: both the full name and the name without its prefix, in lower
// case.
func EnumNames(values map[string]int32, prefix string) map[string]int64 {
	out := make(map[string]int64, 2*len(values))
	for name, number := range values {
		out[strings.ToLower(name)] = int64(number)
		out[strings.ToLower(strings.TrimPrefix(name, prefix))] = int64(number)
	}
	return out
}
