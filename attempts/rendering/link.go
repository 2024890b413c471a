package rendering

import (
	"regexp"
	"strings"
)

var linkValue = regexp.MustCompile(`\{\{\s*\.([A-Za-z0-9]+)\s*\}\}`)

// Link fills the template of a link, which has {{ .X }} for values; values has them by their names in lower case. It is false
// if one of them is not known.
func Link(uri string, values map[string]string) (string, bool) {
	complete := true
	rendered := linkValue.ReplaceAllStringFunc(uri, func(found string) string {
		value, known := values[strings.ToLower(linkValue.FindStringSubmatch(found)[1])]
		if !known {
			complete = false
		}
		return value
	})
	return rendered, complete
}
