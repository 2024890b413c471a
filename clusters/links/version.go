package links

import (
	"fmt"
	"regexp"
	"strconv"
)

// numbers begins a version such as v1.4.2.
var numbers = regexp.MustCompile(`^v?(\d{1,9})\.(\d{1,9})\b`)

// Compatible reports whether a controller and an API of these versions work together: they are of the same major version, and at most one
// minor version apart. A version without numbers, or 0.0, is that of a program that was built without one; it works with all.
func Compatible(one, other string) bool {
	a, known := parse(one)
	b, alsoKnown := parse(other)
	if !known || !alsoKnown {
		return true
	}
	apart := a.minor - b.minor
	return a.major == b.major && -1 <= apart && apart <= 1
}

// skew is by how many minor versions one is newer than the other; not known across major versions, or without numbers.
func skew(one, other string) (minors int, known bool) {
	a, known := parse(one)
	b, alsoKnown := parse(other)
	return a.minor - b.minor, known && alsoKnown && a.major == b.major
}

// VersionNote says what people should know about the version of a controller; empty if it is that of the API, or if one of them has none.
// Patches do not count.
func VersionNote(controller, api string) string {
	c, known := parse(controller)
	a, alsoKnown := parse(api)
	switch {
	case !known || !alsoKnown || c == a:
		return ""
	case !Compatible(controller, api):
		return fmt.Sprintf("version %s does not work with version %s of the API: upgrade one of them", controller, api)
	case c.minor < a.minor:
		return fmt.Sprintf("version %s is older than version %s of the API: upgrade the controller", controller, api)
	}
	return fmt.Sprintf("version %s is newer than version %s of the API: upgrade the API", controller, api)
}

type version struct{ major, minor int }

func parse(text string) (v version, known bool) {
	found := numbers.FindStringSubmatch(text)
	if found == nil {
		return version{}, false
	}
	v.major, _ = strconv.Atoi(found[1]) // at most nine digits
	v.minor, _ = strconv.Atoi(found[2])
	return v, v != version{}
}
