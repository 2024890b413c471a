package layers

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Variable is the environment variable of a key.
func Variable(prefix, key string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// ofServices matches the variables that Kubernetes sets in every pod for a Service whose name begins with the prefix, such as
// FLYTE_RUNS_SERVICE_HOST for flyte-runs.
var ofServices = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?)?)$`)

// environment applies the variables of keys, and reports those that are probably misspelled. Others with the prefix belong to
// other programs, such as the SDK.
func (r *reader) environment(prefix string, variables []string) {
	byName := map[string]leaf{}
	var names []string
	for _, leaf := range leaves("", r.root) {
		name := Variable(prefix, leaf.path)
		byName[name] = leaf
		names = append(names, name)
	}
	variables = slices.Clone(variables)
	slices.Sort(variables) // messages in the same order every time
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		if value == "" || !strings.HasPrefix(name, prefix+"_") {
			continue
		}
		origin := Origin{Variable: name}
		if leaf, known := byName[name]; known {
			r.text(value, leaf, origin)
			continue
		}
		if ofServices.MatchString(name) {
			continue
		}
		if near := Nearest(name, names); near != "" {
			r.problem(origin, "", "unknown variable; did you mean "+near+"?")
		} else if r.inSection(prefix, name) {
			r.problem(origin, "", "unknown variable; no key has this name")
		}
	}
}

// inSection reports whether the name begins with that of a section.
func (r *reader) inSection(prefix, name string) bool {
	for _, key := range Keys(r.root.Type()) {
		if r.root.Field(key.Index).Kind() == reflect.Struct && strings.HasPrefix(name, Variable(prefix, key.Name)+"_") {
			return true
		}
	}
	return false
}

// text applies one line of text to a key. Lists of sections and maps are JSON.
func (r *reader) text(value string, key leaf, origin Origin) {
	at := func(*yaml.Node) Origin { return origin }
	node := text(value)
	kind := key.value.Kind()
	trimmed := strings.TrimLeftFunc(value, unicode.IsSpace)
	switch {
	case kind == reflect.Slice && key.value.Type().Elem().Kind() == reflect.Struct && strings.HasPrefix(trimmed, "["),
		kind == reflect.Map && strings.HasPrefix(trimmed, "{"):
		var document yaml.Node
		if yaml.Unmarshal([]byte(value), &document) != nil || len(document.Content) != 1 { // its error may have the value of a secret
			form := `[{"key": "value"}]`
			if kind == reflect.Map {
				form = `{"name": "value"}`
			}
			r.problem(origin, key.path, "is not valid JSON; write "+form)
			return
		}
		node = document.Content[0]
	}
	r.value(node, key.path, key.value, key.secret, at)
}
