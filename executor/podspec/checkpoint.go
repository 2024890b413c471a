package podspec

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/internal/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
)

// lastCheckpoint returns the checkpoint of the latest earlier attempt that saved one: an attempt that was lost before it
// saved anything must not hide what an earlier one saved. When none did, it is the location of the previous attempt's;
// empty for the first attempt.
func (b *Builder) lastCheckpoint(ctx context.Context, attempt *plugin.Attempt) (string, error) {
	if attempt.PreviousDir == "" {
		return "", nil
	}
	spec := attempt.Task.Spec
	for number := attempt.Number - 1; number >= 1; number-- {
		uri := blobpath.Checkpoints(blobpath.AttemptDir(spec.RunOutputBase, spec.Action, uint32(number)))
		switch _, err := b.deps.Store.Stat(ctx, uri); {
		case err == nil:
			return uri, nil
		case !errors.Is(err, blobstore.ErrNotExist) && !errors.Is(err, blobstore.ErrForbiddenPath): // a link out of the store is none
			return "", fmt.Errorf("look up checkpoint %s: %w", uri, err)
		}
	}
	return blobpath.Checkpoints(attempt.PreviousDir), nil
}
