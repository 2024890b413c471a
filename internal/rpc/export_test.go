package rpc

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TargetOf returns a procedure's row of the table: the paths of its resources, or why it has none.
func TargetOf(name string) (paths []string, none string) {
	row, _ := procedureOf(name)
	return row.on.paths, row.on.none
}

// HasShape reports whether a message names a resource.
func HasShape(message protoreflect.FullName) bool {
	_, ok := shapes[message]
	return ok
}

// ProjectField is the path of the field with the project in a message that has a shape; empty when it has none.
func ProjectField(message protoreflect.FullName) string { return shapes[message].project }

// AuthorisedUnary is the authorisation of one procedure and a handler behind it.
func AuthorisedUnary(authoriser Authoriser, name string, next connect.UnaryFunc) func(context.Context, proto.Message) error {
	a := &authorisation{authoriser: authoriser}
	return func(ctx context.Context, request proto.Message) error {
		row, known := procedureOf(name)
		if _, err := a.admit(ctx, name, row, known); err != nil {
			return err
		}
		scope, err := a.message(ctx, name, row, request)
		if err != nil {
			return err
		}
		_, err = next(WithScope(ctx, scope), nil)
		return err
	}
}
