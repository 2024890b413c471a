package copilot

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// textOf formats a primitive for a file: numbers in digits, true or false, times in RFC 3339, durations such as 1h30m0s.
func textOf(p *core.Primitive) string {
	switch v := p.GetValue().(type) {
	case *core.Primitive_Integer:
		return strconv.FormatInt(v.Integer, 10)
	case *core.Primitive_FloatValue:
		return strconv.FormatFloat(v.FloatValue, 'g', -1, 64)
	case *core.Primitive_StringValue:
		return v.StringValue
	case *core.Primitive_Boolean:
		return strconv.FormatBool(v.Boolean)
	case *core.Primitive_Datetime:
		return v.Datetime.AsTime().Format(time.RFC3339Nano)
	case *core.Primitive_Duration:
		return v.Duration.AsDuration().String()
	}
	return ""
}

// nativeOf converts a primitive for JSON and YAML. They have no infinities, which stay text.
func nativeOf(p *core.Primitive) any {
	switch v := p.GetValue().(type) {
	case *core.Primitive_Integer:
		return v.Integer
	case *core.Primitive_FloatValue:
		if !math.IsNaN(v.FloatValue) && !math.IsInf(v.FloatValue, 0) {
			return v.FloatValue
		}
	case *core.Primitive_Boolean:
		return v.Boolean
	}
	return textOf(p)
}

// parsePrimitive reads text as a type. White space around anything but strings is ignored: most programs end their output
// with a line break.
func parsePrimitive(simple core.SimpleType, text string) (*core.Primitive, error) {
	trimmed := strings.TrimSpace(text)
	switch simple {
	case core.SimpleType_STRING:
		return &core.Primitive{Value: &core.Primitive_StringValue{StringValue: text}}, nil
	case core.SimpleType_INTEGER:
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil {
			return nil, errors.New("is not an integer of 64 bits")
		}
		return &core.Primitive{Value: &core.Primitive_Integer{Integer: n}}, nil
	case core.SimpleType_FLOAT:
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil {
			return nil, errors.New("is not a number")
		}
		return &core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: f}}, nil
	case core.SimpleType_BOOLEAN:
		switch strings.ToLower(trimmed) {
		case "true", "1":
			return &core.Primitive{Value: &core.Primitive_Boolean{Boolean: true}}, nil
		case "false", "0":
			return &core.Primitive{Value: &core.Primitive_Boolean{Boolean: false}}, nil
		}
		return nil, errors.New("is neither true nor false")
	case core.SimpleType_DATETIME:
		t, err := parseTime(trimmed)
		if err != nil {
			return nil, err
		}
		return &core.Primitive{Value: &core.Primitive_Datetime{Datetime: timestamppb.New(t)}}, nil
	case core.SimpleType_DURATION:
		d, err := parseDuration(trimmed)
		if err != nil {
			return nil, err
		}
		return &core.Primitive{Value: &core.Primitive_Duration{Duration: durationpb.New(d)}}, nil
	}
	return nil, errors.New("cannot be read from text")
}

// parseTime reads ISO 8601 as programs write it; without a zone it is UTC.
func parseTime(text string) (time.Time, error) {
	// RFC 3339 first; then what Python's str() and isoformat() print.
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			if err := timestamppb.New(t).CheckValid(); err != nil {
				break
			}
			return t, nil
		}
	}
	return time.Time{}, errors.New("is not a time such as 2006-01-02T15:04:05Z")
}

// parseDuration reads 1h30m, a number of seconds, or what Python prints: 1 day, 2:03:04.5.
func parseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return ofSeconds(seconds)
	}
	pattern := regexp.MustCompile(`^(?:(-?\d{1,9}) days?, )?(\d{1,9}):(\d{1,2}):(\d{1,2}(?:\.\d{1,9})?)$`)
	part := pattern.FindStringSubmatch(text)
	if part == nil {
		return 0, errors.New("is not a duration such as 1h30m, 5400 or 1:30:00")
	}
	var numbers [4]float64
	for i := range numbers {
		numbers[i], _ = strconv.ParseFloat(part[i+1], 64) // the pattern has only numbers; no days are 0
	}
	return ofSeconds(((numbers[0]*24+numbers[1])*60+numbers[2])*60 + numbers[3])
}

// ofSeconds converts seconds to a duration.
func ofSeconds(seconds float64) (time.Duration, error) {
	nanoseconds := math.Round(seconds*1e6) * 1e3 // exact to a microsecond, as clients are
	if math.IsNaN(nanoseconds) || math.Abs(nanoseconds) > math.MaxInt64/2 {
		return 0, errors.New("is too long a duration")
	}
	return time.Duration(nanoseconds), nil
}
