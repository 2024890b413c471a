package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// envName is the rule of shells, which is stricter than that of a run: settings reach every task of a project.
var envName = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)

// checkMap returns what is wrong with the first invalid entry, by name.
func checkMap(path string, entries map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		value, problem := entries[name], ""
		switch path {
		case "labels":
			if problem = checkKey(name); problem == "" && !kuberule.IsValue(value) {
				problem = fmt.Sprintf("%q is not a valid label value: it %s", shown(value), kuberule.ValueRule)
			}
		case "annotations":
			problem = checkKey(name)
		case "environment_variables":
			if !envName.MatchString(name) || name == "." || strings.HasPrefix(name, "..") {
				problem = "is not a valid environment variable name: letters, digits, dots, dashes and underscores, no digit first"
			}
		}
		if problem == "" && strings.ContainsRune(value, 0) {
			problem = "must not contain NUL"
		}
		if problem != "" {
			return fmt.Sprintf("%q: %s", shown(name), problem)
		}
	}
	return ""
}

func checkKey(name string) string {
	switch {
	case !kuberule.IsKey(name):
		return "is not a valid key: it " + kuberule.KeyRule
	case strings.HasPrefix(name, ident.ReservedKeys):
		return "belongs to the platform"
	}
	return ""
}
