package authz

import "google.golang.org/protobuf/reflect/protoreflect"

// TargetOf returns a procedure's row of the table: the paths of all its resources, and why it is about none of them; empty
// if it is about one.
func TargetOf(name string) (paths []string, none string) {
	row, _ := RowOf(name)
	for _, path := range row.on.paths {
		paths = append(paths, path.fields)
	}
	return paths, row.on.none
}

// PermissionAt is the permission that the table names for the resources at a path; empty for that of the row.
func PermissionAt(name, fields string) string {
	row, _ := RowOf(name)
	for _, path := range row.on.paths {
		if path.fields == fields {
			return path.permission
		}
	}
	return ""
}

// HasShape reports whether a message names a resource.
func HasShape(message protoreflect.FullName) bool {
	_, ok := shapes[message]
	return ok
}

// ProjectField is the path of the field with the project in a message that has a shape; empty when it has none.
func ProjectField(message protoreflect.FullName) string { return shapes[message].project }

// ClusterAt is the path of the texts that name the cluster for which a controller calls a procedure, and how its handler keeps it to its
// cluster; empty for what the table does not say.
func ClusterAt(name string) (fields, kept string) {
	row, _ := RowOf(name)
	return row.on.cluster, row.on.kept
}
