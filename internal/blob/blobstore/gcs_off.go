//go:build nocloudgcs

package blobstore

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func openGCS(context.Context, root, clock.Clock) (backend, error) {
	return nil, errors.New("this build has no support for gs:// (tag nocloudgcs)")
}
