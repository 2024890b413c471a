package texts

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// textKind is what a text is, which decides about its characters. The zero value is undecided, which no field may be.
type textKind uint8

const (
	undecided textKind = iota
	// textName names a run or an action.
	textName
	// textPlace names a project or a domain.
	textPlace
	// textProject names a project that is created or updated.
	textProject
	// textKey names an entry in a store of Kubernetes: a secret or its key.
	textKey
	// textTitle names something for people, in one line.
	textTitle
	// textProse is read by people, in any number of lines.
	textProse
	// textSymbol is a name that programs compare byte for byte, so it is never changed.
	textSymbol
	// textOpaque is for programs alone: URIs, code, values of variables.
	textOpaque
)

// check returns the text as it is stored, or what is wrong with it.
func (k textKind) check(text string) (normal, words string) {
	switch k {
	case textName:
		return text, unless(ident.IsName(text), text, ident.NameRule)
	case textPlace:
		return text, unless(ident.IsPlace(text), text, ident.PlaceRule)
	case textProject:
		return text, unless(ident.IsProject(text), text, ident.ProjectRule)
	case textKey:
		return text, unless(isKey(text), text, "has letters, digits, dashes, underscores and dots")
	case textTitle:
		if strings.TrimSpace(text) == "" {
			return "", "is blank"
		}
		return norm.NFC.String(text), invisible(text, hiddenInTitle)
	case textProse:
		return norm.NFC.String(text), invisible(text, hiddenInProse)
	case textSymbol:
		return text, invisible(text, hiddenInTitle)
	default:
		return text, ""
	}
}

func unless(fine bool, text, rule string) string {
	if fine {
		return ""
	}
	return fmt.Sprintf("%s is not a valid name: it %s", quoted(text), rule)
}

func isKey(text string) bool {
	if len(text) > 253 || text == "." || text == ".." {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// invisible says which character of a text must not be in it; empty for none.
func invisible(text string, hidden func(rune) bool) string {
	at := strings.IndexFunc(text, hidden)
	if at < 0 {
		return ""
	}
	for _, r := range text[at:] {
		return fmt.Sprintf("%s has the character %U, which cannot be seen or changes how the rest is shown; leave it out", quoted(text), r)
	}
	return ""
}

// hiddenInTitle reports characters without a form of their own: controls, line breaks, format characters such as those
// of no width and those that change the direction of writing.
func hiddenInTitle(r rune) bool {
	return r < ' ' || r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// hiddenInProse reports controls, without tabs and line breaks, and the characters that override or isolate the
// direction of writing. Other format characters belong to scripts and emoji.
func hiddenInProse(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return false
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	default:
		return unicode.IsControl(r)
	}
}

// quoted shows a text with its invisible characters as escapes, shortened.
func quoted(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) <= most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…", string(runes[:most]))
}
