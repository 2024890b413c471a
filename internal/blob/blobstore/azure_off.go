//go:build nocloudazure

package blobstore

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func openAzure(context.Context, root, clock.Clock) (backend, error) {
	return nil, errors.New("this build has no support for abfs:// (tag nocloudazure)")
}
