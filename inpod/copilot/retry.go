package copilot

import (
	"context"
	"errors"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// A failing store is retried for about half a minute; then the attempt is lost, and a system retry may succeed.
const (
	tries      = 6
	firstPause = time.Second
	maxPause   = 16 * time.Second
)

// again calls do until it succeeds, a retry cannot help, or the retries are used up.
func again(ctx context.Context, clk clock.Clock, do func() error) error {
	retries := backoff.New(firstPause, maxPause)
	for {
		err := do()
		if err == nil || retries.Failures() == tries-1 || ctx.Err() != nil || lasting(err) {
			return err
		}
		if ended := retries.Wait(ctx, clk); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// lasting reports whether a retry cannot help.
func lasting(err error) bool {
	var known *problem
	return errors.As(err, &known) || errors.Is(err, blobstore.ErrNotExist) || errors.Is(err, blobstore.ErrForbiddenPath) ||
		errors.Is(err, blobstore.ErrTooLarge) || errors.Is(err, errLocal)
}

// errLocal marks trouble with the directories of the pod.
var errLocal = errors.New("local directory")
