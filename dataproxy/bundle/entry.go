package bundle

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// Entry is where a task's function is.
type Entry struct {
	// Module is the dotted name of the module; empty when it is not known.
	Module string
	// File is the script, for tasks that are one.
	File string
	// Function is its name; empty when it is not known.
	Function string
}

// best is the rank of the file that the interpreter would take.
const best = 5

// rank says how well a file fits the entry; 0 when it does not. Code may are below a directory that is put on the
// interpreter's path, so that the end of a path fits, too.
func (e Entry) rank(path string) int {
	if e.File != "" && path == e.File {
		return best
	}
	if e.Module == "" {
		return 0
	}
	file := strings.ReplaceAll(e.Module, ".", "/")
	switch {
	case path == file+".py":
		return best
	case path == file+"/__init__.py":
		return best - 1
	case strings.HasSuffix(path, "/"+file+".py"):
		return best - 2
	case strings.HasSuffix(path, "/"+file+"/__init__.py"):
		return best - 3
	default:
		return 0
	}
}

// identifier is the format of function names; they need no escaping in a regular expression.
var identifier = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// definition is the line, from 1, on which a function is defined, or, for tasks that are not functions, where their name
// is assigned; 0 when neither is there. Of several the least indented is taken.
func definition(text, function string) int {
	if !identifier.MatchString(function) {
		return 0
	}
	for _, pattern := range []string{`(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+` + function + `[ \t]*[\[(]`, `(?m)^()` + function + `[ \t]*(?::[^=\n]*)?=[^=]`} {
		at, indent := -1, 0
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatchIndex(text, -1) {
			if width := found[3] - found[2]; at < 0 || width < indent {
				at, indent = found[0], width
			}
		}
		if at >= 0 {
			return strings.Count(text[:at], "\n") + 1
		}
	}
	return 0
}

// asText is a file as text; nothing of one that is not text. It ends with a whole character.
func asText(t text) (string, bool) {
	body := t.body
	if t.more {
		body = body[:clip.Whole(body)]
	}
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return "", true
	}
	return string(body), t.more
}
