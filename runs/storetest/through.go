package storetest

import (
	"regexp"
	"strconv"
)

var (
	scanned = regexp.MustCompile(`Scan.*\(actual .*?rows=([0-9.]+) loops=([0-9]+)\)`)
	removed = regexp.MustCompile(`Rows Removed by (?:Filter|Index Recheck): ([0-9.]+)`)
)

// GoneThrough is how many rows the scans of an analyzed plan returned and dropped.
func GoneThrough(plan []string) (sum float64) {
	loops := 1.0
	for _, line := range plan {
		if found := scanned.FindStringSubmatch(line); found != nil {
			rows, _ := strconv.ParseFloat(found[1], 64)
			loops, _ = strconv.ParseFloat(found[2], 64)
			sum += rows * loops
		} else if found := removed.FindStringSubmatch(line); found != nil {
			rows, _ := strconv.ParseFloat(found[1], 64)
			sum += rows * loops
		}
	}
	return sum
}
