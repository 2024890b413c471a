package rpc

import (
	"context"
	"errors"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/texts"
)

// validation refuses requests that break a rule of their proto file or bring a text that the door refuses, with
// invalid_argument and a message that names each field by its path. Broken rules are in a detail, buf.validate.Violations.
//
// All chains of a process share one validator. It is made at the first request, and takes 8 MB, since it describes every
// message that the program knows.
type validation struct{}

var _ connect.Interceptor = validation{}

// WrapUnary implements connect.Interceptor.
func (v validation) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if err := v.check(ctx, request.Spec().Procedure, request.Any()); err != nil {
			return nil, answer(ctx, err)
		}
		return next(ctx, request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (v validation) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return next(ctx, validatingConn{conn, v, ctx})
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (validation) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

type validatingConn struct {
	connect.StreamingHandlerConn
	validation validation
	ctx        context.Context //nolint:containedctx // of the call; Receive has none
}

// Receive implements connect.StreamingHandlerConn.
func (c validatingConn) Receive(message any) error {
	if err := c.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	return c.validation.check(c.ctx, c.Spec().Procedure, message)
}

func (v validation) check(ctx context.Context, procedure string, message any) error {
	request, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	// Calls inside the process carry on what came through the door before.
	if !isInProcess(ctx) {
		rule, _ := authz.RuleOf(procedure)
		if at, words := texts.Check(request.ProtoReflect(), rule.By.Internal()); words != "" {
			return toConnect(InvalidArgument(at, "%s", words))
		}
	}
	err := v.validate(request)
	if err == nil {
		return nil
	}
	var broken *protovalidate.ValidationError
	if !errors.As(err, &broken) {
		// A rule that does not compile or cannot be evaluated is a fault of the contract.
		return toConnect(Internal(err, "the rules of %s cannot be checked", request.ProtoReflect().Descriptor().FullName()))
	}
	wire := toConnect(InvalidArgument("", "%s", describe(broken)))
	addDetail(wire, broken.ToProto())
	return wire
}

// describe joins the violations into one line.
func describe(broken *protovalidate.ValidationError) string {
	text := ""
	for i, violation := range broken.Violations {
		if i > 0 {
			text += "; "
		}
		text += violation.String()
	}
	return text
}

// exceptOrganisation skips every rule of fields that name an organization: clients of a single installation send them
// empty, and we identify nothing by them.
type exceptOrganisation struct{}

// ShouldValidate implements protovalidate.Filter.
func (exceptOrganisation) ShouldValidate(_ protoreflect.Message, descriptor protoreflect.Descriptor) bool {
	field, ok := descriptor.(protoreflect.FieldDescriptor)
	return !ok || !namesOrganisation(field)
}

// namesOrganisation reports whether a field is an organization or the name of one.
func namesOrganisation(field protoreflect.FieldDescriptor) bool {
	return field.Name() == "org" || field.Name() == "organization" || field.Parent().FullName() == "flyteidl2.common.OrgIdentifier"
}

// maxViolations is how many broken rules an answer names.
const maxViolations = 10

// validate checks a request by the rules of its proto file. Each broken rule takes about a kilobyte, and a request may break
// one with every two of its bytes, so only requests that are small anyway are searched for all of them.
func (validation) validate(request proto.Message) error {
	filter := protovalidate.WithFilter(exceptOrganisation{})
	err := protovalidate.Validate(request, filter, protovalidate.WithFailFast())
	if err == nil || proto.Size(request) > lightMessage {
		return err
	}
	err = protovalidate.Validate(request, filter)
	var broken *protovalidate.ValidationError
	if errors.As(err, &broken) && len(broken.Violations) > maxViolations {
		broken.Violations = broken.Violations[:maxViolations]
	}
	return err
}
