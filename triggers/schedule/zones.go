package schedule

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

// zoneNames are the names of the IANA time zone database that Go embeds, sorted, without Factory, which says that no one has set
// a zone. A machine's directory of zones also has other files, such as localtime and posixrules, whose meaning differs between
// machines.
//
//go:embed zones.txt
var zoneNames string

// loadZone returns a time zone. known is false for one that only this machine has: a new trigger must not name it.
func loadZone(name string) (zone *time.Location, known bool, err error) {
	if name == "" || name == "UTC" {
		return time.UTC, true, nil
	}
	_, known = slices.BinarySearch(strings.Fields(zoneNames), name)
	zone, err = time.LoadLocation(name)
	return zone, known, err
}
