package notifications

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Data is what templates can say. It is stored with a delivery, so that every try says the same.
type Data struct {
	Project     string `json:"project"`
	Domain      string `json:"domain"`
	Run         string `json:"run"`
	Phase       string `json:"phase"`
	Error       string `json:"error,omitempty"`
	Action      string `json:"action,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	Description string `json:"description,omitempty"`
	PromptType  string `json:"promptType,omitempty"`
}

// variables are the names of templates. The first are for every notification, the others for actions that wait.
var variables = []struct {
	name   string
	paused bool
	value  func(*Data) string
}{
	{".Run.Project", false, func(d *Data) string { return d.Project }},
	{".Run.Domain", false, func(d *Data) string { return d.Domain }},
	{".Run.Name", false, func(d *Data) string { return d.Run }},
	{".Phase", false, func(d *Data) string { return d.Phase }},
	{".Error", false, func(d *Data) string { return d.Error }},
	{".Action.Run.Project", true, func(d *Data) string { return d.Project }},
	{".Action.Run.Domain", true, func(d *Data) string { return d.Domain }},
	{".Action.Run.Name", true, func(d *Data) string { return d.Run }},
	{".Action.Name", true, func(d *Data) string { return d.Action }},
	{".Prompt", true, func(d *Data) string { return d.Prompt }},
	{".Description", true, func(d *Data) string { return d.Description }},
	{".PromptType", true, func(d *Data) string { return d.PromptType }},
}

// placeholder matches variables. Braces around anything that does not begin with a dot are text, such as the functions
// of adaptive cards.
var placeholder = regexp.MustCompile(`\{\{-?\s*(\.[^{}]*?)\s*-?\}\}`)

// checkTemplate refuses variables that do not exist. Those of actions that wait exist only for them.
func checkTemplate(field, text string, paused bool) error {
	for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
		var known []string
		for _, v := range variables {
			if paused || !v.paused {
				known = append(known, v.name)
			}
		}
		if !slices.Contains(known, found[1]) {
			return rpc.InvalidArgument(field, "unknown template variable %s; known variables are %s", found[1], strings.Join(known, ", "))
		}
	}
	return nil
}

// fill replaces the variables, each value in the form that its place requires. Other text stays as it is.
func fill(text string, data *Data, escape func(string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		name := placeholder.FindStringSubmatch(match)[1]
		for _, v := range variables {
			if v.name == name {
				return escape(v.value(data))
			}
		}
		return match // checked when the run was created
	})
}

func asIs(value string) string { return value }

// inJSON is a value as part of a JSON string.
func inJSON(value string) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // a string can always be encoded
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(text.String(), "\n"), `"`), `"`)
}

// inURL is a value as part of a path or a query.
func inURL(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

func inHTML(value string) string { return html.EscapeString(value) }

// inLine is a value as part of a header: one line without control characters, not too long.
func inLine(value string) string {
	const longest = 500
	line := strings.Map(func(char rune) rune {
		if unicode.IsControl(char) || char == '\u2028' || char == '\u2029' {
			return ' '
		}
		return char
	}, value)
	if utf8.RuneCountInString(line) <= longest {
		return line
	}
	return clip.Characters(line, longest) + "…"
}
