package authz

import "google.golang.org/protobuf/reflect/protoreflect"

// TargetOf returns a procedure's row of the table: the paths of its resources, or why it has none.
func TargetOf(name string) (paths []string, none string) {
	row, _ := RowOf(name)
	return row.on.paths, row.on.none
}

// HasShape reports whether a message names a resource.
func HasShape(message protoreflect.FullName) bool {
	_, ok := shapes[message]
	return ok
}

// ProjectField is the path of the field with the project in a message that has a shape; empty when it has none.
func ProjectField(message protoreflect.FullName) string { return shapes[message].project }
