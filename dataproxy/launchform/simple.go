package launchform

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

func simpleLiteral(path string, of *core.LiteralType, value any) (*core.Literal, error) {
	switch t := of.GetSimple(); t {
	case core.SimpleType_NONE:
		if value != nil {
			return nil, wrong(path, "must be null")
		}
		return none(), nil
	case core.SimpleType_INTEGER:
		n, err := parseInteger(path, value)
		return primitive(&core.Primitive{Value: &core.Primitive_Integer{Integer: n}}), err
	case core.SimpleType_FLOAT:
		f, err := parseFloat(path, value)
		return primitive(&core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: f}}), err
	case core.SimpleType_STRING:
		text, ok := value.(string)
		if !ok {
			return nil, wrong(path, "must be a string")
		}
		return primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: text}}), nil
	case core.SimpleType_BOOLEAN:
		b, ok := value.(bool)
		if !ok {
			return nil, wrong(path, "must be true or false")
		}
		return primitive(&core.Primitive{Value: &core.Primitive_Boolean{Boolean: b}}), nil
	case core.SimpleType_DATETIME:
		at, err := parseDatetime(path, value)
		return primitive(&core.Primitive{Value: &core.Primitive_Datetime{Datetime: at}}), err
	case core.SimpleType_DURATION:
		d, err := parseDuration(path, value)
		return primitive(&core.Primitive{Value: &core.Primitive_Duration{Duration: d}}), err
	case core.SimpleType_STRUCT:
		return structLiteral(path, shapeOf(of), value)
	case core.SimpleType_BINARY:
		return binaryLiteral(path, value)
	case core.SimpleType_ERROR:
		return nil, unsupported(path, "an error")
	default:
		return nil, wrong(path, "simple type %d is not known", t)
	}
}

// parseInteger takes whole numbers, and text for those that JSON numbers cannot hold.
func parseInteger(path string, value any) (int64, error) {
	switch v := value.(type) {
	case float64:
		if v != math.Trunc(v) || v < math.MinInt64 || v >= math.MaxInt64 {
			return 0, wrong(path, "must be a whole number of 64 bits")
		}
		if math.Abs(v) > maxExact {
			return 0, wrong(path, "%s", notExact)
		}
		return int64(v), nil
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return 0, wrong(path, "must be a whole number of 64 bits")
		}
		return n, nil
	default:
		return 0, wrong(path, "must be a whole number")
	}
}

func parseFloat(path string, value any) (float64, error) {
	switch v := value.(type) {
	case float64:
		return v, nil
	case string:
		switch v {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		}
	}
	return 0, wrong(path, "must be a number")
}

func parseDatetime(path string, value any) (*timestamppb.Timestamp, error) {
	text, ok := value.(string)
	if !ok {
		return nil, wrong(path, "must be a time such as 2026-01-31T12:00:00Z")
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, wrong(path, "must be a time such as 2026-01-31T12:00:00Z")
	}
	result := timestamppb.New(at)
	if err := result.CheckValid(); err != nil {
		return nil, wrong(path, "the time is out of range")
	}
	return result, nil
}

// parseDuration takes Go's notation; bare numbers are seconds.
func parseDuration(path string, value any) (*durationpb.Duration, error) {
	var result *durationpb.Duration
	switch v := value.(type) {
	case float64:
		// More than any duration of protobuf, and few enough seconds to convert to an integer.
		if math.Abs(v) > math.MaxInt32*1000 {
			return nil, wrong(path, "the duration is out of range")
		}
		whole, part := math.Modf(v)
		result = &durationpb.Duration{Seconds: int64(whole), Nanos: int32(math.Round(part * 1e9))}
		// The fraction was rounded up to a whole second.
		if result.GetNanos() == 1e9 || result.GetNanos() == -1e9 {
			result.Seconds, result.Nanos = result.GetSeconds()+int64(result.GetNanos()/1e9), 0
		}
	case string:
		v = strings.TrimSpace(v)
		if seconds, ok := parseSeconds(v); ok {
			result = seconds
		} else if d, err := time.ParseDuration(v); err == nil {
			result = durationpb.New(d)
		}
	}
	if result == nil {
		return nil, wrong(path, "must be a duration such as 1h30m, or a number of seconds")
	}
	if err := result.CheckValid(); err != nil {
		return nil, wrong(path, "the duration is out of range")
	}
	return result, nil
}

// secondsText writes a duration in seconds, such as 9467280000.5.
func secondsText(d *durationpb.Duration) string {
	seconds, nanos, sign := d.GetSeconds(), d.GetNanos(), ""
	if seconds < 0 || nanos < 0 {
		seconds, nanos, sign = -seconds, -nanos, "-"
	}
	return sign + strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%09d", seconds, nanos), "0"), ".")
}

// parseSeconds reads what secondsText writes.
func parseSeconds(text string) (*durationpb.Duration, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	seconds, err := strconv.ParseUint(whole, 10, 63)
	// Nine digits of nanoseconds, which 30 bits hold. More digits are refused below.
	nanos, wrong := strconv.ParseUint((fraction + "000000000")[:max(9, len(fraction))], 10, 30)
	if err != nil || wrong != nil || len(fraction) > 9 {
		return nil, false
	}
	result := &durationpb.Duration{Seconds: int64(seconds), Nanos: int32(nanos)}
	if negative {
		result.Seconds, result.Nanos = -result.GetSeconds(), -result.GetNanos()
	}
	return result, true
}
