package launchform

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// maxExact is the largest integer up to which different integers are different JSON numbers, as most readers hold them.
const maxExact = 1<<53 - 1

// notExact says why a whole number is refused: it may have been another one when it was sent.
const notExact = "a whole number of more than 2^53-1 arrives changed: write it as text, such as \"9007199254740993\""

// msgpackTag marks binary values that are msgpack.
const msgpackTag = "msgpack"

// jsonOf is a literal as a JSON value: nil, bool, float64, string, []any or map[string]any.
func jsonOf(path string, l *core.Literal, depth int) (any, error) {
	if depth > maxDepth {
		return nil, wrong(path, "the value is nested too deep")
	}
	switch value := l.GetValue().(type) {
	case *core.Literal_Scalar:
		return scalarJSON(path, value.Scalar, depth)
	case *core.Literal_Collection:
		items := make([]any, len(value.Collection.GetLiterals()))
		for i, item := range value.Collection.GetLiterals() {
			var err error
			if items[i], err = jsonOf(at(path, i), item, depth+1); err != nil {
				return nil, err
			}
		}
		return items, nil
	case *core.Literal_Map:
		fields := make(map[string]any, len(value.Map.GetLiterals()))
		for _, key := range sortedKeys(value.Map.GetLiterals()) {
			var err error
			if fields[key], err = jsonOf(path+"."+key, value.Map.GetLiterals()[key], depth+1); err != nil {
				return nil, err
			}
		}
		return fields, nil
	case *core.Literal_OffloadedMetadata:
		return nil, unsupported(path, "an offloaded value")
	default:
		return nil, wrong(path, "the value is missing")
	}
}

func scalarJSON(path string, scalar *core.Scalar, depth int) (any, error) {
	switch value := scalar.GetValue().(type) {
	case *core.Scalar_Primitive:
		return primitiveJSON(path, value.Primitive)
	case *core.Scalar_NoneType:
		return nil, nil //nolint:nilnil // null
	case *core.Scalar_Generic:
		return value.Generic.AsMap(), nil
	case *core.Scalar_Binary:
		return binaryJSON(path, value.Binary)
	case *core.Scalar_Blob:
		t := value.Blob.GetMetadata().GetType()
		return map[string]any{
			"uri": value.Blob.GetUri(), "format": t.GetFormat(), "dimensionality": t.GetDimensionality().String(),
		}, nil
	case *core.Scalar_StructuredDataset:
		return map[string]any{
			"uri":    value.StructuredDataset.GetUri(),
			"format": value.StructuredDataset.GetMetadata().GetStructuredDatasetType().GetFormat(),
		}, nil
	case *core.Scalar_Union:
		return jsonOf(path, value.Union.GetValue(), depth+1)
	case *core.Scalar_Schema:
		return nil, unsupported(path, "a schema")
	case *core.Scalar_Error:
		return nil, unsupported(path, "an error")
	default:
		return nil, wrong(path, "the value is missing")
	}
}

func primitiveJSON(path string, primitive *core.Primitive) (any, error) {
	switch value := primitive.GetValue().(type) {
	case *core.Primitive_Integer:
		return integerJSON(value.Integer), nil
	case *core.Primitive_FloatValue:
		return floatJSON(value.FloatValue), nil
	case *core.Primitive_StringValue:
		if !utf8.ValidString(value.StringValue) {
			return nil, wrong(path, "the text is not UTF-8")
		}
		return value.StringValue, nil
	case *core.Primitive_Boolean:
		return value.Boolean, nil
	case *core.Primitive_Datetime:
		return datetimeJSON(path, value.Datetime)
	case *core.Primitive_Duration:
		return durationJSON(path, value.Duration)
	default:
		return nil, wrong(path, "the value is missing")
	}
}

// integerJSON gives text where a number would not be exact.
func integerJSON(n int64) any {
	if n > maxExact || n < -maxExact {
		return strconv.FormatInt(n, 10)
	}
	return float64(n)
}

// floatJSON gives text for what JSON has no numbers for.
func floatJSON(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return f
	}
}

func datetimeJSON(path string, t *timestamppb.Timestamp) (any, error) {
	if err := t.CheckValid(); err != nil {
		return nil, wrong(path, "the time is not valid: %v", err)
	}
	return t.AsTime().Format(time.RFC3339Nano), nil
}

// durationJSON gives seconds, with a fraction, for what is longer than Go's durations, about 292 years.
func durationJSON(path string, d *durationpb.Duration) (any, error) {
	if err := d.CheckValid(); err != nil {
		return nil, wrong(path, "the duration is not valid: %v", err)
	}
	if exact := durationpb.New(d.AsDuration()); exact.GetSeconds() != d.GetSeconds() || exact.GetNanos() != d.GetNanos() {
		return secondsText(d), nil
	}
	return d.AsDuration().String(), nil
}

func binaryJSON(path string, binary *core.Binary) (any, error) {
	if binary.GetTag() == msgpackTag {
		return msgpackJSON(path, binary.GetValue())
	}
	return base64.StdEncoding.EncodeToString(binary.GetValue()), nil
}
