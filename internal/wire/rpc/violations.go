package rpc

import (
	"errors"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
)

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
