package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// reservedPrefix is the prefix of the platform's own labels and annotations.
const reservedPrefix = "flyte.org/"

var (
	qualifiedName = regexp.MustCompile(`^(?:([^/]+)/)?([A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$`)
	envName       = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)
)

// checkMap returns what is wrong with the first invalid entry, by name.
func checkMap(path string, entries map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		value, problem := entries[name], ""
		switch path {
		case "labels":
			if problem = checkKey(name); problem == "" && value != "" && !labelLike.MatchString(value) {
				problem = fmt.Sprintf("%q is no value of a label: up to 63 letters, digits, dashes, underscores and dots", clip(value))
			}
		case "annotations":
			problem = checkKey(name)
		case "environment_variables":
			if !envName.MatchString(name) || name == "." || strings.HasPrefix(name, "..") {
				problem = "is no name of an environment variable: letters, digits, dots, dashes and underscores, no digit first"
			}
		}
		if problem == "" && strings.ContainsRune(value, 0) {
			problem = "may not contain the character NUL"
		}
		if problem != "" {
			return fmt.Sprintf("%q: %s", clip(name), problem)
		}
	}
	return ""
}

func checkKey(name string) string {
	parts := qualifiedName.FindStringSubmatch(name)
	switch {
	case parts == nil, parts[1] != "" && (len(parts[1]) > maxSubdomain || !subdomain.MatchString(parts[1])):
		return "is no key: an optional domain name and a slash, then up to 63 letters, digits, dashes, underscores and dots"
	case strings.HasPrefix(name, reservedPrefix):
		return "belongs to the platform"
	}
	return ""
}
