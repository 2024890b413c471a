package layers

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// override applies section.key=value, or section.map.name=value for one entry of a map.
func (r *reader) override(flag, override string) {
	key, value, found := strings.Cut(override, "=")
	if !found || key == "" {
		r.problem(Origin{Flag: flag}, "", fmt.Sprintf("want section.key=value, such as server.listen=127.0.0.1:8090, got %q", key))
		return
	}
	origin := Origin{Flag: flag + " " + key}
	target, path, rest := r.root, "", key
	for {
		name, below, deeper := strings.Cut(rest, ".")
		keys := Keys(target.Type())
		field, known := find(keys, name)
		if !known {
			r.unknownOverride(origin, key, path, rest, keys)
			return
		}
		target, path, rest = target.Field(field.Index), join(path, field.Name), below
		switch {
		case target.Kind() == reflect.Struct && deeper:
			continue
		case target.Kind() == reflect.Struct:
			r.problem(origin, key, "is a section; set one of its keys, such as "+firstKey(path, target.Type()))
		case target.Kind() == reflect.Map && deeper:
			r.entry(path, text(rest), text(value), target, field.Secret, func(*yaml.Node) Origin { return origin })
			r.origins[path] = origin
		case deeper:
			r.problem(origin, key, "unknown key; "+path+" has no keys below it")
		default:
			r.text(value, leaf{path: path, value: target, secret: field.Secret}, origin)
		}
		return
	}
}

// unknownOverride reports a key that does not exist. Any part of its path may be misspelled.
func (r *reader) unknownOverride(origin Origin, key, section, rest string, keys []Key) {
	var paths []string
	for _, leaf := range leaves("", r.root) {
		paths = append(paths, leaf.path)
	}
	if near := Nearest(key, paths); near != "" {
		r.problem(origin, key, "unknown key; did you mean "+near+"?")
		return
	}
	r.unknown(origin, section, rest, keys)
}
