package copilot

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Codes of the errors that the co-pilot reports. The first three are faults of the task; CodeSystem is one of the pod
// or the object store, and a system retry may help.
const (
	CodeInput         = "InputUnavailable"
	CodeMissingOutput = "OutputMissing"
	CodeBadOutput     = "OutputMalformed"
	CodeSystem        = "CopilotFailed"
)

// problem is a fault of the task, reported to its author.
type problem struct {
	code        string
	recoverable bool // another attempt may succeed
	text        string
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// badInput is about inputs: another attempt would get the same.
func badInput(format string, args ...any) error {
	return &problem{code: CodeInput, text: fmt.Sprintf(format, args...)}
}

// missing and malformed are about outputs: a retry may succeed.
func missing(format string, args ...any) error {
	return &problem{code: CodeMissingOutput, recoverable: true, text: fmt.Sprintf(format, args...)}
}

func malformed(format string, args ...any) error {
	return &problem{code: CodeBadOutput, recoverable: true, text: fmt.Sprintf(format, args...)}
}

// document is an error as the executor reads it from error.pb. Errors that are not a problem of the task are system errors.
func document(err error) ([]byte, error) {
	reported := &core.ContainerError{
		Code: CodeSystem, Message: "co-pilot: " + err.Error(), Kind: core.ContainerError_RECOVERABLE, Origin: core.ExecutionError_SYSTEM,
	}
	if p := (*problem)(nil); errors.As(err, &p) {
		reported.Code, reported.Message, reported.Origin = p.code, err.Error(), core.ExecutionError_USER
		if !p.recoverable {
			reported.Kind = core.ContainerError_NON_RECOVERABLE
		}
	}
	return proto.Marshal(&core.ErrorDocument{Error: reported})
}
