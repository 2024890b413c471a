package layers

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value fills a field of any kind.
func (r *reader) value(node *yaml.Node, path string, target reflect.Value, secret bool, at place) {
	node = resolve(node)
	if isNull(node) {
		return // a key without a value keeps the default
	}
	if node.Kind == yaml.ScalarNode && readsText(target.Type()) {
		unmarshaler, _ := target.Addr().Interface().(encoding.TextUnmarshaler)
		if err := unmarshaler.UnmarshalText([]byte(node.Value)); err != nil {
			r.problem(at(node), path, err.Error())
			return
		}
		r.origins[path] = at(node)
		return
	}
	switch target.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(target.Type().Elem())
		r.value(node, path, fresh.Elem(), secret, at)
		target.Set(fresh)
	case reflect.Struct:
		if node.Kind != yaml.MappingNode {
			r.problem(at(node), path, fmt.Sprintf("must be a section with keys, such as %s", firstKey(path, target.Type())))
			return
		}
		r.section(node, path, target, at)
	case reflect.Slice:
		r.list(node, path, target, secret, at)
	case reflect.Map:
		r.table(node, path, target, secret, at)
	default:
		if node.Kind != yaml.ScalarNode {
			r.problem(at(node), path, "must be one value, such as "+example(target.Type()))
			return
		}
		if complaint := setScalar(target, node.Value, secret); complaint != "" {
			r.problem(at(node), path, complaint)
			return
		}
		r.origins[path] = at(node)
	}
}

// list replaces a list. In a line of text, items are separated by commas.
func (r *reader) list(node *yaml.Node, path string, target reflect.Value, secret bool, at place) {
	items := node.Content
	switch node.Kind {
	case yaml.SequenceNode:
	case yaml.ScalarNode:
		element := target.Type().Elem()
		if node.Value != "" && element.Kind() == reflect.Struct && !readsText(element) {
			r.problem(at(node), path, "must be a list of objects"+inJSON(at(node), `[{"key": "value"}]`))
			return
		}
		items = splitText(node)
	default:
		r.problem(at(node), path, "must be a list, such as ["+example(target.Type().Elem())+"]")
		return
	}
	fresh := reflect.MakeSlice(target.Type(), len(items), len(items))
	for i, item := range items {
		item = resolve(item)
		at := at
		if outer := at; node.Kind == yaml.ScalarNode {
			at = func(*yaml.Node) Origin { return outer(node) }
		}
		r.value(item, path+"["+itoa(i)+"]", fresh.Index(i), secret, at)
	}
	target.Set(fresh)
	r.origins[path] = at(node)
}

func splitText(node *yaml.Node) []*yaml.Node {
	var items []*yaml.Node
	for item := range strings.SplitSeq(node.Value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, text(item))
		}
	}
	return items
}

// table merges a map into what lower layers have.
func (r *reader) table(node *yaml.Node, path string, target reflect.Value, secret bool, at place) {
	if node.Kind != yaml.MappingNode {
		r.problem(at(node), path, "must be a map"+inJSON(at(node), `{"name": "value"}`))
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		r.entry(path, node.Content[i], node.Content[i+1], target, secret, at)
	}
	r.origins[path] = at(node)
}

// entry sets one entry of a map. The map of a default is not changed, since others may have it.
func (r *reader) entry(path string, name, value *yaml.Node, target reflect.Value, secret bool, at place) {
	fresh := reflect.MakeMap(target.Type())
	for entry := target.MapRange(); entry.Next(); {
		fresh.SetMapIndex(entry.Key(), entry.Value())
	}
	item := reflect.New(target.Type().Elem()).Elem()
	r.value(value, join(path, name.Value), item, secret, at)
	fresh.SetMapIndex(reflect.ValueOf(name.Value).Convert(target.Type().Key()), item)
	target.Set(fresh)
}

// inJSON names the form of lists and maps, which is JSON outside of files.
func inJSON(origin Origin, form string) string {
	if origin.File != "" {
		return ""
	}
	return " in JSON: " + form
}

// text is a scalar that did not come from a file.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func firstKey(path string, t reflect.Type) string {
	if keys := Keys(t); len(keys) > 0 {
		return join(path, keys[0].Name)
	}
	return path
}

func itoa(n int) string { return strconv.Itoa(n) }
