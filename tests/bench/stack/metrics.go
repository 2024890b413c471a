package stack

import (
	"fmt"
	"strconv"
	"strings"
)

// SumOf adds up the values of a metric, with and without labels, in the text that Prometheus reads.
func SumOf(body []byte, name string) (float64, error) {
	sum, found := 0.0, false
	for line := range strings.Lines(string(body)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		fields := strings.Fields(rest[strings.LastIndexByte(rest, '}')+1:])
		if len(fields) == 0 {
			return 0, fmt.Errorf("no figure: %q", line)
		}
		value, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("the metrics have no %s", name)
	}
	return sum, nil
}
