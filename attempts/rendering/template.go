package rendering

import (
	"regexp"
	"slices"
	"strings"
)

// Values replace the templates of texts.
type Values struct {
	// Named are by the name of the template in lower case.
	Named map[string]string
	// Inputs are by the exact name of the input.
	Inputs map[string]string
}

// templatePattern matches {{.name}}, {{$name}} and {{.inputs.name}}. Its groups are the name and the name of the input.
var templatePattern = regexp.MustCompile(`\{\{\s*[.$](?:([A-Za-z][A-Za-z0-9_]*)|(?i:inputs)\.([^}\s]+))\s*\}\}`)

// Render returns a text with its templates replaced. Unknown templates stay as they are.
func (v Values) Render(text string) string {
	if !strings.Contains(text, "{{") {
		return text // as most are, and the pattern is slow
	}
	return templatePattern.ReplaceAllStringFunc(text, func(found string) string {
		names := templatePattern.FindStringSubmatch(found)
		value, known := v.Inputs[names[2]]
		if names[2] == "" {
			value, known = v.Named[strings.ToLower(names[1])]
		}
		if known {
			return value
		}
		return found
	})
}

// Map returns the values with each changed, as by an escape.
func (v Values) Map(change func(string) string) Values {
	each := func(values map[string]string) map[string]string {
		result := make(map[string]string, len(values))
		for name, value := range values {
			result[name] = change(value)
		}
		return result
	}
	return Values{Named: each(v.Named), Inputs: each(v.Inputs)}
}

// Mentions are the names that templates refer to.
type Mentions struct {
	Values map[string]bool // in lower case
	Inputs []string        // each once, in order
}

// Add adds the names that a text mentions.
func (m *Mentions) Add(text string) {
	if !strings.Contains(text, "{{") {
		return
	}
	for _, names := range templatePattern.FindAllStringSubmatch(text, -1) {
		if input := names[2]; input == "" {
			if m.Values == nil {
				m.Values = map[string]bool{}
			}
			m.Values[strings.ToLower(names[1])] = true
		} else if !slices.Contains(m.Inputs, input) {
			m.Inputs = append(m.Inputs, input)
		}
	}
}

// UniqueKey turns the name of an attempt's object into an identifier of letters, digits and underscores.
func UniqueKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
