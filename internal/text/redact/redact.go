// Package redact replaces the values of secrets in texts that are stored, logged or shown, such as the message of a
// container that did not start: what failed may have been expanded from a secret. It builds on internal/text/clip.
package redact

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

const (
	// Shortest is how many bytes a value must have to be looked for. Shorter ones are in most texts by chance.
	Shortest = 4
	// shortestPart is the same for a line of a value of several lines, and for a value of which a text has only the
	// beginning or the end.
	shortestPart = 8
)

// Values are the values of secrets. They cannot print themselves. A nil *Values replaces nothing.
type Values struct {
	forms    []form // longest first
	replacer *strings.Replacer
}

// form is one way to write a value, or a line of it.
type form struct{ text, shown string }

// New returns the values of secrets by their names, which are shown in the place of the values.
func New(secrets map[string][]byte) *Values {
	shown := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for _, text := range formsOf(string(secrets[name])) {
			if shown[text] == "" {
				shown[text] = "[secret " + name + "]"
			}
		}
	}
	if len(shown) == 0 {
		return nil
	}
	v := &Values{}
	for text, place := range shown {
		v.forms = append(v.forms, form{text, place})
	}
	// At each place of a text, the first that matches is replaced.
	slices.SortFunc(v.forms, func(a, b form) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	var pairs []string
	for _, one := range v.forms {
		pairs = append(pairs, one.text, one.shown)
	}
	v.replacer = strings.NewReplacer(pairs...)
	return v
}

// formsOf returns the ways in which messages write a value: as it is, quoted as by Go and JSON, and as a part of a URL;
// and each line of a value that has several.
func formsOf(value string) []string {
	var forms []string
	add := func(text string, least int) {
		if text = strings.TrimSpace(text); len(text) < least {
			return
		}
		quoted := strconv.Quote(text)
		forms = append(forms, text, quoted[1:len(quoted)-1], url.QueryEscape(text), url.PathEscape(text), url.UserPassword("", text).String()[1:])
	}
	add(value, Shortest)
	if strings.Contains(strings.TrimSpace(value), "\n") {
		for line := range strings.Lines(value) {
			add(line, shortestPart)
		}
	}
	return forms
}

// Text returns a text in which the values are replaced.
func (v *Values) Text(text string) string {
	if v == nil || text == "" {
		return text
	}
	parts := strings.Split(text, clip.Gap)
	for i := range parts {
		parts[i] = v.replacer.Replace(v.ends(parts[i]))
	}
	return strings.Join(parts, clip.Gap)
}

// ends replaces values of which a text has only the end, at its beginning, or only the beginning, at its end: someone
// shortened it.
func (v *Values) ends(text string) string {
	for _, one := range v.forms {
		if len(one.text) <= shortestPart {
			break
		}
		if at := strings.LastIndex(text, one.text[:shortestPart]); at >= 0 && strings.HasPrefix(one.text, text[at:]) {
			text = text[:at] + one.shown
		}
		last := one.text[len(one.text)-shortestPart:]
		if at := strings.Index(text, last); at >= 0 && strings.HasSuffix(one.text, text[:at+len(last)]) {
			text = one.shown + text[at+len(last):]
		}
	}
	return text
}

// Format implements fmt.Formatter for every verb, also those that would print the fields.
func (*Values) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "(secrets)") }
