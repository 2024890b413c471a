package rpc

import (
	"context"
	"net/http"

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
		if err := admit(ctx, name, row, known); err != nil {
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

// GateLinks are the gate and the intake without the rest of the chain.
type GateLinks struct{ links *links }

// Gates makes them.
func Gates(chain Chain) (GateLinks, error) {
	made, err := chain.make()
	return GateLinks{made}, err
}

// Option is the gate, and the part of the intake that is in the chain.
func (g GateLinks) Option() connect.HandlerOption {
	return connect.WithHandlerOptions(connect.WithRequestGate(g.links.gate.request),
		connect.WithConditionalHandlerOptions(g.links.intake.options), connect.WithInterceptors(decodedInterceptor{}))
}

// Before is the part of the intake that is before the handler.
func (g GateLinks) Before(service string, h http.Handler) http.Handler {
	return g.links.intake.before(service, h)
}
