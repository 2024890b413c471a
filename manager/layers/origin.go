package layers

import (
	"fmt"
	"strings"
)

// Origin is where a value came from. The zero value means the default.
type Origin struct {
	// File is the configuration file, and Line the line of the key in it, from 1.
	File string
	Line int
	// Variable is the environment variable.
	Variable string
	// Flag is the flag with the key that it overrides, such as "--set server.listen".
	Flag string
}

// String is the place as people look it up: flyte.yaml:12, FLYTE_SERVER_LISTEN, --set server.listen, or default.
func (o Origin) String() string {
	switch {
	case o.Flag != "":
		return o.Flag
	case o.Variable != "":
		return o.Variable
	case o.File != "":
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	default:
		return "default"
	}
}

// IsDefault reports whether nothing set the value.
func (o Origin) IsDefault() bool { return o == Origin{} }

// Origins is where each key came from that is not at its default. Items of lists and maps have entries too:
// runs.queues[0].name.
type Origins map[string]Origin

// Of is the origin of a key, or of the list or section that it is in.
func (o Origins) Of(key string) Origin {
	for key != "" {
		if origin, found := o[key]; found {
			return origin
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return Origin{}
}

// Locate finds the places of what a Validate function has refused, as internal/invalid lists it: each text begins with the path of a
// key and a colon. There are no problems if err is nil.
func (o Origins) Locate(err error) Problems {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all Problems
		for _, err := range several.Unwrap() {
			all = append(all, o.Locate(err)...)
		}
		return all
	}
	key, text, found := strings.Cut(err.Error(), ": ")
	if !found {
		return Problems{{Text: err.Error()}}
	}
	return Problems{{Origin: o.Of(key), Key: key, Text: text}}
}
