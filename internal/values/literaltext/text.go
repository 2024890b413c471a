// Package literaltext writes literals as text.
package literaltext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// maxDepth bounds how deep collections nest.
const maxDepth = 64

// Text is a literal as one argument: strings as they are, numbers and booleans as in JSON, times by RFC 3339 in UTC,
// durations as in Go (1m30s), blobs, schemas and datasets by their URI, collections as [a,b], maps and structures as
// JSON, nothing at all for None. Any other literal is an error that says what it is.
func Text(literal *core.Literal) (string, error) { return text(literal, maxDepth) }

func text(literal *core.Literal, depth int) (string, error) {
	if depth == 0 {
		return "", errors.New("it is nested too deeply")
	}
	switch value := literal.GetValue().(type) {
	case *core.Literal_Scalar:
		return scalar(value.Scalar, depth)
	case *core.Literal_Collection:
		parts := make([]string, 0, len(value.Collection.GetLiterals()))
		for _, element := range value.Collection.GetLiterals() {
			part, err := text(element, depth-1)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	case *core.Literal_Map:
		entries := make(map[string]string, len(value.Map.GetLiterals()))
		for name, element := range value.Map.GetLiterals() {
			part, err := text(element, depth-1)
			if err != nil {
				return "", err
			}
			entries[name] = part
		}
		return encoded(entries)
	case *core.Literal_OffloadedMetadata:
		return "", errors.New("its value is in the object store and too large for an argument")
	default:
		return "", errors.New("it has no value")
	}
}

func scalar(value *core.Scalar, depth int) (string, error) {
	switch kind := value.GetValue().(type) {
	case *core.Scalar_Primitive:
		return primitive(kind.Primitive)
	case *core.Scalar_Blob:
		return kind.Blob.GetUri(), nil
	case *core.Scalar_Schema:
		return kind.Schema.GetUri(), nil
	case *core.Scalar_StructuredDataset:
		return kind.StructuredDataset.GetUri(), nil
	case *core.Scalar_NoneType:
		return "", nil
	case *core.Scalar_Union:
		return text(kind.Union.GetValue(), depth-1)
	case *core.Scalar_Generic:
		body, err := protojson.Marshal(kind.Generic)
		if err != nil {
			return "", fmt.Errorf("its structure cannot be read: %w", err)
		}
		var compact any // protojson varies its spaces from build to build.
		if err := json.Unmarshal(body, &compact); err != nil {
			return "", fmt.Errorf("its structure cannot be read: %w", err)
		}
		return encoded(compact)
	case *core.Scalar_Binary:
		if tag := kind.Binary.GetTag(); tag != "msgpack" {
			return "", fmt.Errorf("it is binary with the tag %q", tag)
		}
		return msgpackText(kind.Binary.GetValue())
	case *core.Scalar_Error:
		return "", errors.New("it is an error")
	default:
		return "", errors.New("it has no value")
	}
}

func primitive(value *core.Primitive) (string, error) {
	switch kind := value.GetValue().(type) {
	case *core.Primitive_Integer:
		return strconv.FormatInt(kind.Integer, 10), nil
	case *core.Primitive_FloatValue:
		return strconv.FormatFloat(kind.FloatValue, 'g', -1, 64), nil
	case *core.Primitive_StringValue:
		return kind.StringValue, nil
	case *core.Primitive_Boolean:
		return strconv.FormatBool(kind.Boolean), nil
	case *core.Primitive_Datetime:
		return kind.Datetime.AsTime().UTC().Format(time.RFC3339Nano), nil
	case *core.Primitive_Duration:
		return kind.Duration.AsDuration().String(), nil
	default:
		return "", errors.New("it has no value")
	}
}

// encoded returns JSON without the escapes for HTML.
func encoded(value any) (string, error) {
	var body strings.Builder
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("it cannot be written as JSON: %w", err)
	}
	return strings.TrimSuffix(body.String(), "\n"), nil
}
