package webhook

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// placeholder is replaced by the callback's address in payloads.
const placeholder = "{callback_uri}"

// payload is the body of a call: the document of the task's author, with the address in place of each placeholder.
func payload(given *structpb.Struct, callback string) ([]byte, error) {
	filled := fill(given.AsMap(), callback)
	return json.Marshal(filled)
}

func fill(value any, callback string) any {
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, placeholder, callback)
	case map[string]any:
		filled := make(map[string]any, len(value))
		for key, item := range value {
			filled[key] = fill(item, callback)
		}
		return filled
	case []any:
		filled := make([]any, len(value))
		for i, item := range value {
			filled[i] = fill(item, callback)
		}
		return filled
	default:
		return value
	}
}
