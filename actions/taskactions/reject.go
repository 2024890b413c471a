package taskactions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
)

// Error codes of actions that cannot become objects.
const (
	codeTooLarge = "TaskTooLarge"
	codeInvalid  = "InvalidTaskAction"
)

// tooLarge are the messages with which stores reject large objects; they have no error code of their own.
var tooLarge = []string{"request is too large", "Request entity too large", "larger than max", "string or blob too big"}

// refusal is the code of a permanent failure, and empty for every other. A forbidden object or a full quota may be
// temporary; a namespace that is missing or not for tasks must be reported, since a person has to create or mark it.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	var unusable *namespaces.Error
	if errors.As(err, &unusable) {
		return unusable.Code
	}
	if apierrors.IsRequestEntityTooLargeError(err) {
		return codeTooLarge
	}
	for _, text := range tooLarge {
		if strings.Contains(err.Error(), text) {
			return codeTooLarge
		}
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return codeInvalid
	}
	return ""
}

// reject fails an action that cannot become an object, with an error that says why, so that it does not wait forever.
func (s *session) reject(ctx context.Context, a *enginev1.Assignment, code string, cause error) error {
	attempt := max(1, a.GetAttempt())
	now := timestamppb.New(s.clock.Now())
	message := fmt.Sprintf("the action cannot be run: its TaskAction is refused: %s", cause)
	if code == codeTooLarge {
		message = fmt.Sprintf("the action cannot be run: its task is too large for Kubernetes; shorten what the task template carries, "+
			"such as environment variables or inline configuration: %s", cause)
	}
	kind, infoKind := core.ExecutionError_USER, workflow.ErrorInfo_KIND_USER
	if code == namespaces.CodeMissing || code == namespaces.CodeNotOurs {
		message = fmt.Sprintf("the action cannot be run: %s", cause)
		kind, infoKind = core.ExecutionError_SYSTEM, workflow.ErrorInfo_KIND_SYSTEM
	}
	outcomes, err := s.events.Record(ctx, []*enginev1.Transition{{
		Event: &workflow.ActionEvent{
			Id: a.GetRef().GetId(), Attempt: attempt, Phase: common.ActionPhase_ACTION_PHASE_FAILED,
			UpdatedTime: now, ReportedTime: now,
			ErrorInfo: &workflow.ErrorInfo{Code: code, Message: message, Kind: infoKind},
		},
		Error: &core.ExecutionError{Code: code, Message: message, Kind: kind, Timestamp: now},
	}})
	if err != nil {
		return fmt.Errorf("report that the TaskAction is refused: %w", err)
	}
	s.metrics.rejected.Add(ctx, 1)
	s.logger.Warn().Err(cause).Str("action", ident.ActionOf(a.GetRef().GetId()).String()).Stringer("outcome", outcomes[0]).
		Msg("the API server rejected the TaskAction; failing the action")
	s.desired.made(a.GetRef().GetUid())
	return nil
}
