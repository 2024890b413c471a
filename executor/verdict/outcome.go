package verdict

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
)

// maxErrorDocument is the largest error document that is read, in bytes.
const maxErrorDocument = 10 << 20

// Store reads what tasks wrote, with the errors of blobstore.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// Of judges the end of an attempt's process by what it wrote to dir. lost is why the process failed; nil if it exited with 0.
// The result is why the attempt failed; nil if it succeeded. The error document counts first: a process that failed may exit
// with 0, and one that exits otherwise may have said why. Then the outputs. Where the system killed the process, what it wrote
// while it stopped does not matter. An error means that nothing is known yet.
func Of(ctx context.Context, store Store, template *core.TaskTemplate, dir string, lost *failure.Failure) (*failure.Failure, error) {
	succeeded := lost == nil
	if !succeeded && !explainsItself(lost) {
		return lost, nil
	}
	reported, err := reportedError(ctx, store, dir)
	switch {
	case err != nil:
		return lost, err
	case reported != nil:
		return reported, nil
	case succeeded && len(template.GetInterface().GetOutputs().GetVariables()) == 0:
		return nil, nil //nolint:nilnil // it succeeded
	case !succeeded && hasDataSidecar(template):
		return lost, nil
	}
	outputs := dir + "/" + blobpath.OutputsFile
	written, err := Exists(ctx, store, outputs)
	switch {
	case err != nil:
		return lost, err
	case succeeded && !written:
		return failure.New(failure.OutputsMissing, "there is no %s", outputs), nil
	case !succeeded && written:
		// A task writes its outputs last: what failed after them is the exit of the interpreter, such as a thread that
		// still held a lock, not the task.
		zerolog.Ctx(ctx).Warn().Str("failure", lost.Message).Msg("process crashed after outputs were written; the attempt succeeded")
		return nil, nil //nolint:nilnil // it succeeded
	}
	return lost, nil
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
func reportedError(ctx context.Context, store Store, dir string) (*failure.Failure, error) {
	uri := dir + "/" + blobpath.ErrorFile
	body, err := store.ReadAll(ctx, uri, maxErrorDocument)
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, nil //nolint:nilnil // it reported none
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return failure.New(failure.BadTaskSpecification, "%s lies outside the configured storage", dir), nil
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

// Exists reports whether there is an object. What leads out of the store, such as a link, is none.
func Exists(ctx context.Context, store Store, uri string) (bool, error) {
	_, err := store.Stat(ctx, uri)
	if errors.Is(err, blobstore.ErrNotExist) || errors.Is(err, blobstore.ErrForbiddenPath) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", uri, err)
	}
	return true, nil
}
