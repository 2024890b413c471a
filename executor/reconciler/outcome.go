package reconciler

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
)

// maxErrorDocument is the largest error document that is read, in bytes.
const maxErrorDocument = 10 << 20

// outcome judges the end of an attempt's process by what it wrote. The error document counts first: a process that
// failed may exit with 0, and one that exits otherwise may have said why. Then the outputs. Where the cluster killed the
// process, what it wrote while it stopped does not matter.
func (r *Reconciler) outcome(ctx context.Context, attempt *plugin.Attempt, state plugin.State) (plugin.State, error) {
	succeeded := state.Phase == common.ActionPhase_ACTION_PHASE_SUCCEEDED
	if !succeeded && (state.Settled || !explainsItself(state.Failure)) {
		return state, nil
	}
	reported, err := r.reportedError(ctx, attempt)
	switch {
	case err != nil:
		return state, err
	case reported != nil:
		state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_FAILED, reported
		return state, nil //nolint:nilerr // the first case has taken every error
	case succeeded && len(attempt.Template.GetInterface().GetOutputs().GetVariables()) == 0:
		return state, nil
	case !succeeded && hasDataSidecar(attempt.Template):
		return state, nil
	}
	outputs := attempt.Dir + "/" + blobpath.OutputsFile
	written, err := r.exists(ctx, outputs)
	switch {
	case err != nil:
		return state, err
	case succeeded && !written:
		state.Phase = common.ActionPhase_ACTION_PHASE_FAILED
		state.Failure = failure.New(failure.OutputsMissing, "there is no %s", outputs)
	case !succeeded && written:
		// A task writes its outputs last: what failed after them is the exit of the interpreter, such as a thread that
		// still held a lock, not the task.
		zerolog.Ctx(ctx).Warn().Str("failure", state.Failure.Message).Msg("process crashed after outputs were written; the attempt succeeded")
		state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_SUCCEEDED, nil
	}
	return state, nil
}

// hasDataSidecar reports whether a sidecar uploads the outputs of a process that knows nothing of them: then only the
// exit code of that process says whether it succeeded.
func hasDataSidecar(template *core.TaskTemplate) bool {
	return template.GetContainer().GetDataConfig().GetEnabled() || template.GetK8SPod().GetDataConfig().GetEnabled()
}

// explainsItself reports whether the process itself failed and may have written why.
func explainsItself(f *failure.Failure) bool {
	if f == nil {
		return false
	}
	switch f.Reason {
	case failure.ContainerFailed, failure.RuntimeNotStarted, failure.Signalled, failure.SegmentationFault, failure.CopilotFailed:
		return true
	}
	return false
}

// reportedError is the failure that the task reported; nil if it reported none.
func (r *Reconciler) reportedError(ctx context.Context, attempt *plugin.Attempt) (*failure.Failure, error) {
	uri := attempt.Dir + "/" + blobpath.ErrorFile
	body, err := r.deps.Store.ReadAll(ctx, uri, maxErrorDocument)
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, nil //nolint:nilnil // it reported none
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return failure.New(failure.BadTaskSpecification, "%s lies outside the configured storage", attempt.Dir), nil
	case errors.Is(err, blobstore.ErrTooLarge):
		return failure.New(failure.ErrorUnreadable, "%s is larger than %d bytes", uri, maxErrorDocument), nil
	case err != nil:
		return nil, fmt.Errorf("read error document: %w", err)
	}
	return ofDocument(body, uri), nil
}

func ofDocument(body []byte, uri string) *failure.Failure {
	document := &core.ErrorDocument{}
	if err := proto.Unmarshal(body, document); err != nil || document.GetError() == nil {
		return failure.New(failure.ErrorUnreadable, "%s is no error document", uri)
	}
	return failure.FromTask(document.GetError())
}

// exists reports whether there is an object. What leads out of the store, such as a link, is none.
func (r *Reconciler) exists(ctx context.Context, uri string) (bool, error) {
	_, err := r.deps.Store.Stat(ctx, uri)
	if errors.Is(err, blobstore.ErrNotExist) || errors.Is(err, blobstore.ErrForbiddenPath) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", uri, err)
	}
	return true, nil
}
