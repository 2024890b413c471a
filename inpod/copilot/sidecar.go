package copilot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Sidecar uploads the outputs of a container that has ended.
type Sidecar struct {
	// Dir is the directory that the container writes into.
	Dir string
	// Outputs are declared by the task.
	Outputs []*core.VariableEntry
	// Attempt is the attempt's directory in the object store, without a trailing slash: outputs.pb goes there.
	Attempt string
	// Raw is the prefix of files, without a trailing slash.
	Raw string
	// Timeout bounds the upload.
	Timeout time.Duration
	// Blobs is the object store.
	Blobs Blobs
	// Clock is the source of time.
	Clock clock.Clock
}

// Collect uploads the outputs. outputs.pb is written last and atomically, so that no reader sees a part. Collect is
// idempotent.
func (s Sidecar) Collect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := s.Clock.NewTimer(s.Timeout)
	defer timer.Stop()
	go func() {
		select {
		case <-timer.C():
			cancel(fmt.Errorf("the outputs were not uploaded within %s", s.Timeout))
		case <-ctx.Done():
		}
	}()
	err := s.collect(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// collect reads the outputs from the directory and uploads them.
func (s Sidecar) collect(ctx context.Context) error {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	defer func() { _ = root.Close() }()
	// Files are uploaded before outputs.pb names them.
	group, transferring := errgroup.WithContext(ctx)
	group.SetLimit(transfers)
	c := &collector{
		ctx: transferring, group: group, root: root, dir: s.Dir, prefix: blobpath.Files(s.Raw), blobs: s.Blobs, clock: s.Clock,
	}
	literals, err := c.collectAll(s.Outputs)
	if err = errors.Join(err, group.Wait()); err != nil {
		return err
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(&task.Outputs{Literals: literals})
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	return again(ctx, s.Clock, func() error { return s.Blobs.WriteAll(ctx, s.Attempt+"/"+blobpath.OutputsFile, body) })
}

// Report writes an error to where the executor reads it. The executor takes it as the reason of the attempt's failure.
func Report(ctx context.Context, blobs Blobs, clk clock.Clock, attempt string, failure error) error {
	body, err := document(failure)
	if err != nil {
		return fmt.Errorf("encode error: %w", err)
	}
	return again(ctx, clk, func() error { return blobs.WriteAll(ctx, attempt+"/"+blobpath.ErrorFile, body) })
}
