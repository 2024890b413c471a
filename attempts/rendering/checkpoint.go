package rendering

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// Objects looks up what attempts wrote, with the errors of blobstore.
type Objects interface {
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// LastCheckpoint returns the checkpoint of the latest earlier attempt that saved one: an attempt that was lost before it saved
// anything must not hide what an earlier one saved. When none did, it is the location of the previous attempt's; empty for the
// first attempt.
func LastCheckpoint(ctx context.Context, objects Objects, runOutputBase, action string, attempt uint32) (string, error) {
	if attempt <= 1 {
		return "", nil
	}
	for number := attempt - 1; number >= 1; number-- {
		uri := blobpath.Checkpoints(blobpath.AttemptDir(runOutputBase, action, number))
		switch _, err := objects.Stat(ctx, uri); {
		case err == nil:
			return uri, nil
		case !errors.Is(err, blobstore.ErrNotExist) && !errors.Is(err, blobstore.ErrForbiddenPath): // a link out of the store is none
			return "", fmt.Errorf("look up checkpoint %s: %w", uri, err)
		}
	}
	return blobpath.Checkpoints(blobpath.AttemptDir(runOutputBase, action, attempt-1)), nil
}
