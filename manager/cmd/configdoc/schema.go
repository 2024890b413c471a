package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// duration matches what time.ParseDuration reads.
const duration = `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`

// schema writes the JSON Schema of a configuration.
func schema(config any, root string) ([]byte, error) {
	s := &schemas{comments: newComments(root), choices: map[string][]string{}}
	for _, key := range configuration.Keys() {
		s.choices[key.Path] = key.Values
	}
	top, err := s.section("", reflect.ValueOf(config))
	if err != nil {
		return nil, err
	}
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "Configuration of flyte-binary"
	text, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(text, '\n'), nil
}

type schemas struct {
	comments *comments
	choices  map[string][]string
}

type object = map[string]any

// section describes a struct. Its keys may be left out and may be empty, as in a file with a heading only.
func (s *schemas) section(path string, value reflect.Value) (object, error) {
	docs := described{}
	if strings.HasPrefix(value.Type().PkgPath(), module) {
		var err error
		if docs, err = s.comments.of(value.Type()); err != nil {
			return nil, err
		}
	}
	properties := object{}
	for _, key := range layers.Keys(value.Type()) {
		field := value.Type().Field(key.Index)
		property, err := s.value(join(path, key.Name), value.Field(key.Index), field.Type)
		if err != nil {
			return nil, err
		}
		if about := docs.fields[field.Name]; about != "" {
			property["description"] = about
		}
		// What must not be printed is not printed as a default either.
		if standard := standard(value.Field(key.Index)); standard != nil && !key.Secret {
			property["default"] = standard
		}
		properties[key.Name] = property
	}
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}, nil
}

// value describes a value of a type. path finds the keys that have a fixed choice of values.
func (s *schemas) value(path string, value reflect.Value, t reflect.Type) (object, error) {
	if choices := s.choices[path]; len(choices) > 0 && t.Kind() == reflect.String {
		return object{"enum": choices}, nil
	}
	if t == reflect.TypeFor[time.Duration]() {
		return object{"type": "string", "pattern": duration, "examples": []string{"30s", "5m", "72h"}}, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.section(path, value)
	case reflect.Pointer:
		return s.value(path, reflect.New(t.Elem()).Elem(), t.Elem())
	case reflect.Slice:
		items, err := s.value(path+"[]", reflect.New(t.Elem()).Elem(), t.Elem())
		return object{"type": "array", "items": items}, err
	case reflect.Map:
		items, err := s.value(path+"[]", reflect.New(t.Elem()).Elem(), t.Elem())
		return object{"type": "object", "additionalProperties": items}, err
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.String:
		return object{"type": []string{"string", "number", "boolean"}}, nil // as a word without quotes may look
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}, nil
	default:
		return object{"type": "integer"}, nil
	}
}

// standard is the default of a key that is not a section, as in YAML; nil if there is none to show.
func standard(value reflect.Value) any {
	switch {
	case value.Kind() == reflect.Struct, value.IsZero() && value.Kind() != reflect.Bool:
		return nil
	case value.Type() == reflect.TypeFor[time.Duration]():
		return short(time.Duration(value.Int()))
	case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
		return nil
	default:
		return value.Interface()
	}
}
