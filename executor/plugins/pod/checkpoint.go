package pod

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/layout"
)

// lastCheckpoint is the checkpoint of the latest attempt before this one that left any: an attempt that was lost before
// it saved anything must not hide what the one before it saved. Without any it is the place of the attempt before; empty
// for the first attempt.
func (p *Plugin) lastCheckpoint(ctx context.Context, attempt *plugin.Attempt) (string, error) {
	if attempt.PreviousDir == "" {
		return "", nil
	}
	spec := attempt.Task.Spec
	for number := attempt.Number - 1; number >= 1; number-- {
		uri := layout.Checkpoints(layout.AttemptDir(spec.RunOutputBase, spec.Action, uint32(number))) //nolint:gosec // from 1
		switch _, err := p.deps.Store.Stat(ctx, uri); {
		case err == nil:
			return uri, nil
		case !errors.Is(err, blobstore.ErrNotExist):
			return "", fmt.Errorf("look for the checkpoint %s: %w", uri, err)
		}
	}
	return layout.Checkpoints(attempt.PreviousDir), nil
}
