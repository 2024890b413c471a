package copilot

import (
	"context"
	"errors"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// A store that stumbles is asked again for about half a minute; after that the attempt is lost, and another one may do.
const (
	tries      = 6
	firstPause = time.Second
)

// again does something until it works, as far as time may help.
func again(ctx context.Context, clk clock.Clock, do func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == tries || ctx.Err() != nil || lasting(err) {
			return err
		}
		timer := clk.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		}
		pause *= 2
	}
}

// lasting says that trying again cannot help.
func lasting(err error) bool {
	var known *problem
	return errors.As(err, &known) || errors.Is(err, blobstore.ErrNotExist) || errors.Is(err, blobstore.ErrForbiddenPath) ||
		errors.Is(err, blobstore.ErrTooLarge) || errors.Is(err, errLocal)
}

// errLocal marks trouble with the directories of the pod.
var errLocal = errors.New("local directory")
