package layers

import (
	"encoding"
	"reflect"
	"strings"
	"time"
)

// Key is one field of a configuration struct.
type Key struct {
	// Name is the last part of its path.
	Name string
	// Index is that of the field in its struct.
	Index int
	// Secret means that its value must not be printed.
	Secret bool
}

// Keys lists the keys of a struct, in the order of its fields. Structs of other projects, such as Kubernetes's, have the names of
// their JSON form.
func Keys(t reflect.Type) []Key {
	var keys []Key
	for i := range t.NumField() {
		field := t.Field(i)
		name := field.Tag.Get("config")
		if name == "" {
			name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
		}
		if name == "" || name == "-" || !field.IsExported() {
			continue
		}
		keys = append(keys, Key{Name: name, Index: i, Secret: field.Tag.Get("sensitive") != ""})
	}
	return keys
}

// find returns the key with a name, ignoring case.
func find(keys []Key, name string) (Key, bool) {
	for _, key := range keys {
		if strings.EqualFold(key.Name, name) {
			return key, true
		}
	}
	return Key{}, false
}

// leaf is a key that is not a section.
type leaf struct {
	path   string
	value  reflect.Value
	secret bool
}

// leaves lists the keys below a struct that are not sections.
func leaves(prefix string, target reflect.Value) []leaf {
	var all []leaf
	for _, key := range Keys(target.Type()) {
		field := target.Field(key.Index)
		if field.Kind() == reflect.Struct {
			all = append(all, leaves(join(prefix, key.Name), field)...)
			continue
		}
		all = append(all, leaf{path: join(prefix, key.Name), value: field, secret: key.Secret})
	}
	return all
}

func join(prefix, name string) string { return strings.TrimPrefix(prefix+"."+name, ".") }

func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[time.Duration]() }

// readsText reports whether a type has a short form in text.
func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// Path is a key with its full path.
type Path struct {
	Path string
	Type reflect.Type
}

// Paths lists the keys of a struct and of the sections below it, without the sections themselves.
func Paths(t reflect.Type) []Path {
	var paths []Path
	for _, leaf := range leaves("", reflect.New(t).Elem()) {
		paths = append(paths, Path{Path: leaf.path, Type: leaf.value.Type()})
	}
	return paths
}
