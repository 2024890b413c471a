package literaltext

import (
	"fmt"
	"math"

	"github.com/flyte-binary/flyte-binary/internal/values/msgpackjson"
)

// msgpackText is the JSON of a packed value. A packed string represents itself, without quotes.
func msgpackText(body []byte) (string, error) {
	value, err := msgpackjson.Decode(body, finite)
	if err != nil {
		return "", fmt.Errorf("its msgpack cannot be read: %w", err)
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	return encoded(value)
}

func finite(value any) (any, error) {
	if v, ok := value.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return nil, fmt.Errorf("it holds %v, which JSON cannot", v)
	}
	return value, nil
}
