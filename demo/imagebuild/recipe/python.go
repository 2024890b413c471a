package recipe

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// wantsPython are the lines of a pyproject.toml that say which versions of Python a project supports: of the standard, and of Poetry.
var wantsPython = regexp.MustCompile(`(?m)^\s*(?:requires-python|python)\s*=\s*["']([^"']+)["']`)

// clause is one part of a requirement of Python, such as >=3.12.
var clause = regexp.MustCompile(`^\s*(>=|<=|==|~=|>|<|\^|~)\s*(\d+)(?:\.(\d+))?(?:\.(\d+|\*))?\s*$`)

// CheckPython returns an error if a project does not support a version of Python such as 3.11. What this cannot read is left to the
// installer.
func CheckPython(pyproject []byte, version string) error {
	match := wantsPython.FindSubmatch(pyproject)
	if match == nil {
		return nil
	}
	wanted := string(match[1])
	_, text, _ := strings.Cut(version, ".")
	minor, err := strconv.Atoi(text)
	if err != nil {
		return nil //nolint:nilerr // documented
	}
	for _, part := range strings.Split(wanted, ",") {
		found := clause.FindStringSubmatch(part)
		if found == nil || found[2] != "3" || found[3] == "" {
			continue
		}
		bound, err := strconv.Atoi(found[3])
		if err != nil {
			continue
		}
		refused := false
		switch found[1] {
		case ">=", "^":
			refused = minor < bound
		case ">":
			refused = minor < bound
		case "<":
			refused = minor > bound || minor == bound && (found[4] == "" || found[4] == "0")
		case "<=":
			refused = minor > bound
		case "==", "~":
			refused = minor != bound
		case "~=": // ~=3.12 allows 3.13, ~=3.12.1 does not
			refused = minor < bound || found[4] != "" && minor > bound
		}
		if refused {
			return fmt.Errorf("this project wants Python %s, and the image has Python %s: choose another version for the image, for example "+
				"with flyte.Image.from_debian_base(python_version=(3, N)), or change the project", wanted, version)
		}
	}
	return nil
}
