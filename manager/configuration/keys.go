package configuration

import (
	"reflect"

	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// Key is a key of the configuration that is not a section.
type Key struct {
	// Path is its full path, such as server.listen.
	Path string
	// Values are all that it may have; empty if they cannot be listed.
	Values []string
}

// Keys lists the keys of the configuration in the order of its sections.
func Keys() []Key {
	choices := map[string][]string{
		"target":         {string(TargetAll), string(TargetAPI), string(TargetController)},
		"logging.level":  {"trace", "debug", "info", "warn", "error"},
		"logging.format": {"json", "pretty", "auto"},
	}
	var keys []Key
	for _, leaf := range layers.Paths(reflect.TypeFor[Config]()) {
		values := choices[leaf.Path]
		if leaf.Type.Kind() == reflect.Bool {
			values = []string{"true", "false"}
		}
		keys = append(keys, Key{Path: leaf.Path, Values: values})
	}
	return keys
}
