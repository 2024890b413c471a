package leased

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Queue works off a list in the database, several entries at once. Its Work is that of a Loop, or a loop of its own where every
// replica works. All fields are required.
type Queue struct {
	Clock clock.Clock
	// Poll is how often the list is read although nothing has ended and Wake was not called.
	Poll time.Duration
	// Launch reads the list and calls start for each entry for which there is a place. Its error is logged: the list is in the
	// database, so the next pass reads it again.
	Launch func(ctx context.Context, start func(do func())) error

	once sync.Once
	wake chan struct{} // of capacity one
}

// Work launches entries until the context ends, and then waits for those that it has started.
func (q *Queue) Work(ctx context.Context) error {
	var started sync.WaitGroup
	defer started.Wait()
	start := func(do func()) {
		started.Go(func() {
			defer q.Wake() // there is a free place
			do()
		})
	}
	for {
		if err := q.Launch(ctx, start); err != nil && ctx.Err() == nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("reading the list failed; retrying")
		}
		if clock.Await(ctx, q.Clock, q.Poll, q.token()) != nil {
			return nil
		}
	}
}

// Wake makes Work read the list at once.
func (q *Queue) Wake() {
	select {
	case q.token() <- struct{}{}:
	default: // a token is there already
	}
}

func (q *Queue) token() chan struct{} {
	q.once.Do(func() { q.wake = make(chan struct{}, 1) })
	return q.wake
}
