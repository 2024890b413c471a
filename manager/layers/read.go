package layers

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Sources are the layers above the defaults, lowest first.
type Sources struct {
	// File is the path of a YAML file; empty for none.
	File string
	// Prefix starts the names of environment variables: with FLYTE, FLYTE_SERVER_LISTEN sets server.listen. Empty leaves out
	// the environment.
	Prefix string
	// Environment lists the variables as name=value. Empty values count as not set.
	Environment []string
	// Overrides have the form section.key=value. Flag is the flag that they were given with, for messages.
	Overrides []string
	Flag      string
}

// Read fills the struct that target points to. Keys that no layer has keep their value. Lists replace what lower layers have,
// maps are merged. In the environment and in overrides, lists are separated by commas, and lists of sections and maps are JSON.
// The error is of type Problems if the contents are wrong; then the target has everything that is right.
func Read(target any, sources Sources) (Origins, error) {
	r := &reader{root: reflect.ValueOf(target).Elem(), origins: Origins{}}
	if sources.File != "" {
		if err := r.file(sources.File); err != nil {
			return nil, err
		}
	}
	if sources.Prefix != "" {
		r.environment(sources.Prefix, sources.Environment)
	}
	for _, override := range sources.Overrides {
		r.override(sources.Flag, override)
	}
	if len(r.problems) > 0 {
		return r.origins, r.problems
	}
	return r.origins, nil
}

type reader struct {
	root     reflect.Value
	origins  Origins
	problems Problems
}

func (r *reader) problem(origin Origin, key, text string) {
	r.problems = append(r.problems, Problem{Origin: origin, Key: key, Text: text})
}

// place is where a node is: a line of the file, or all of a variable or flag.
type place func(*yaml.Node) Origin

// section fills a struct from a mapping.
func (r *reader) section(node *yaml.Node, path string, target reflect.Value, at place) {
	keys := Keys(target.Type())
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], resolve(node.Content[i+1])
		if name.Tag == "!!merge" {
			r.merge(value, path, target, at)
			continue
		}
		key, found := find(keys, name.Value)
		if !found {
			r.unknown(at(name), path, name.Value, keys)
			continue
		}
		full := join(path, key.Name)
		if first, twice := lines[key.Name]; twice {
			r.problem(at(name), full, "given twice: it is on line "+itoa(first)+" too")
			continue
		}
		lines[key.Name] = name.Line
		at := func(node *yaml.Node) Origin { // a value on its own line is found by its key
			if node == value {
				return at(name)
			}
			return at(node)
		}
		r.value(value, full, target.Field(key.Index), key.Secret, at)
	}
}

// merge applies "<<: *anchor".
func (r *reader) merge(value *yaml.Node, path string, target reflect.Value, at place) {
	if value.Kind == yaml.MappingNode {
		r.section(value, path, target, at)
		return
	}
	for _, item := range value.Content {
		if item = resolve(item); item.Kind == yaml.MappingNode {
			r.section(item, path, target, at)
		}
	}
}

// unknown reports a key that its section does not have.
func (r *reader) unknown(origin Origin, section, name string, keys []Key) {
	full := join(section, name)
	if near := r.suggest(section, name, keys); near != "" {
		r.problem(origin, full, "unknown key; did you mean "+near+"?")
		return
	}
	if section == "" {
		section = "the configuration"
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	const enough = 8
	if len(names) > enough {
		names = append(slices.Clone(names[:enough]), "… (`flyte-binary config schema` has all)")
	}
	r.problem(origin, full, "unknown key; "+section+" has "+strings.Join(names, ", "))
}

// suggest is the full path of the key that was probably meant: one of the same section, or one of that name elsewhere.
func (r *reader) suggest(section, name string, keys []Key) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	if near := Nearest(name, names); near != "" {
		return join(section, near)
	}
	var elsewhere []string
	for _, leaf := range leaves("", r.root) {
		if strings.EqualFold(leaf.path[strings.LastIndex(leaf.path, ".")+1:], name) {
			elsewhere = append(elsewhere, leaf.path)
		}
	}
	if len(elsewhere) == 1 {
		return elsewhere[0]
	}
	return ""
}

// resolve follows an alias.
func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }
