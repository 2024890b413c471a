package verdict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// maxErrorDocument is the largest error document that is read as a whole, in bytes.
const maxErrorDocument = 1 << 20

// Store reads what tasks wrote, with the errors of blobstore.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	NewReader(ctx context.Context, uri string) (io.ReadCloser, error)
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// End is how the process of an attempt ended.
type End struct {
	// Lost is why the process failed; nil if it exited with 0.
	Lost *failure.Failure
	// Stopped is what stopped a process that exited with 0, which some do when they are asked to stop; nil if it ended by itself.
	Stopped *failure.Failure
	// ErrorDir is where the process that failed writes its error document; empty means where the outputs are.
	ErrorDir string
	// NoDocument means that the process that failed writes none. What another one wrote does not explain it.
	NoDocument bool
	// Others means that other processes of the attempt failed than the one that writes the outputs.
	Others bool
}

// Of judges the end of an attempt's process by what it wrote to dir.
// The result is why the attempt failed; nil if it succeeded. The error document counts first: a process that failed may exit
// with 0, and one that exits otherwise may have said why. Then the outputs. Where the system killed the process, what it wrote
// while it stopped does not matter. An error means that nothing is known yet.
func Of(ctx context.Context, store Store, template *core.TaskTemplate, dir string, end End) (*failure.Failure, error) {
	lost := end.Lost
	succeeded := lost == nil
	if !succeeded && !explainsItself(lost) {
		return lost, nil
	}
	reported, err := end.reported(ctx, store, template, dir)
	switch {
	case err != nil:
		return lost, err
	case reported != nil && reported.Reason == failure.ErrorUnreadable && !succeeded:
		return lost.With(reported.Message), nil // how it ended says more
	case reported != nil:
		return ofMember(reported, lost), nil
	case !succeeded && end.Others:
		return lost, nil
	case succeeded && len(template.GetInterface().GetOutputs().GetVariables()) == 0:
		return nil, nil //nolint:nilnil // it succeeded
	case !succeeded && HasDataSidecar(template):
		return lost, nil
	}
	// What is in the outputs is not looked at: that is up to those who read them.
	outputs := dir + "/" + blobpath.OutputsFile
	written, err := Exists(ctx, store, outputs)
	switch {
	case err != nil:
		return lost, err
	case succeeded && !written:
		return unfinished(template, end, "there is no "+outputs), nil
	case !succeeded && written:
		// A task writes its outputs last: what failed after them is the exit of the interpreter, such as a thread that
		// still held a lock, not the task.
		zerolog.Ctx(ctx).Warn().Str("failure", lost.Message).Msg("process crashed after outputs were written; the attempt succeeded")
		return nil, nil //nolint:nilnil // it succeeded
	}
	return lost, nil
}

// reported is the failure that the process reported, or that of the attempt reported where all succeeded; nil if there is none.
func (e End) reported(ctx context.Context, store Store, template *core.TaskTemplate, dir string) (*failure.Failure, error) {
	switch {
	case e.Lost == nil:
		return reportedError(ctx, store, template, dir)
	case e.NoDocument:
		return nil, nil //nolint:nilnil // it reports none
	}
	return reportedError(ctx, store, template, cmp.Or(e.ErrorDir, dir))
}

// ofMember is what the task reported, as the failure of the member that failed.
func ofMember(reported, lost *failure.Failure) *failure.Failure {
	if lost == nil || lost.Member == "" {
		return reported
	}
	return reported.In(lost.Member)
}

// unfinished is the failure of a process that exited with 0 and left no outputs: of what stopped it, of the sidecar that should have
// written them, or else of the task, as one that calls sys.exit(0).
func unfinished(template *core.TaskTemplate, end End, missing string) *failure.Failure {
	switch {
	case end.Stopped != nil:
		return end.Stopped
	case HasDataSidecar(template):
		return failure.New(failure.CopilotFailed, "%s", missing)
	}
	return failure.New(failure.OutputsMissing, "%s", missing)
}

// HasDataSidecar reports whether a sidecar uploads the outputs of a process that knows nothing of them: then only the
// exit code of that process says whether it succeeded.
func HasDataSidecar(template *core.TaskTemplate) bool {
	return template.GetContainer().GetDataConfig().GetEnabled() || template.GetK8SPod().GetDataConfig().GetEnabled()
}

// explainsItself reports whether the process itself failed and may have written why.
func explainsItself(f *failure.Failure) bool {
	if f == nil {
		return false
	}
	switch f.Reason {
	case failure.ContainerFailed, failure.RuntimeNotStarted, failure.Signalled, failure.SegmentationFault, failure.CopilotFailed, failure.JobFailed,
		failure.GangFailed:
		return true
	}
	return false
}

// Written reports whether an attempt has written its outcome: its error document or its outputs.
func Written(ctx context.Context, store Store, dir string) (bool, error) {
	for _, file := range []string{blobpath.ErrorFile, blobpath.OutputsFile} {
		if found, err := Exists(ctx, store, dir+"/"+file); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// reportedError is the failure that the task reported; nil if it reported none.
func reportedError(ctx context.Context, store Store, template *core.TaskTemplate, dir string) (*failure.Failure, error) {
	uri := dir + "/" + blobpath.ErrorFile
	body, err := store.ReadAll(ctx, uri, maxErrorDocument)
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, nil //nolint:nilnil // it reported none
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return failure.New(failure.BadTaskSpecification, "%s lies outside the configured storage", dir), nil
	case errors.Is(err, fs.ErrPermission): // of a file that the task has closed to us
		return failure.New(failure.ErrorUnreadable, "%v", err), nil
	case errors.Is(err, blobstore.ErrTooLarge):
		return largeError(ctx, store, template, uri)
	case err != nil:
		return nil, fmt.Errorf("read error document: %w", err)
	}
	document := &core.ErrorDocument{}
	if err := proto.Unmarshal(body, document); err != nil || document.GetError() == nil {
		return unreadable(uri), nil
	}
	return failure.FromTask(document.GetError(), HasDataSidecar(template)), nil
}

// largeError is the failure of a document that is too large to be held.
func largeError(ctx context.Context, store Store, template *core.TaskTemplate, uri string) (*failure.Failure, error) {
	reader, err := store.NewReader(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("read error document: %w", err)
	}
	defer func() { _ = reader.Close() }()
	broken := &brokenReader{from: reader}
	reported, err := readLarge(broken)
	switch {
	case broken.err != nil:
		return nil, fmt.Errorf("read error document: %w", broken.err)
	case err != nil:
		return unreadable(uri), nil
	}
	return failure.FromTask(reported, HasDataSidecar(template)), nil
}

// brokenReader notes why a stream could not be read, which is not the fault of its contents.
type brokenReader struct {
	from io.Reader
	err  error
}

func (r *brokenReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

func unreadable(uri string) *failure.Failure {
	return failure.New(failure.ErrorUnreadable, "%s is not a valid error document", uri)
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
