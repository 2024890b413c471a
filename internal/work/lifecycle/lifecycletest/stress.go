// Package lifecycletest tests parts against the contract of lifecycle.Part.
package lifecycletest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// rounds is how many parts are started and stopped at the same time by several goroutines.
	rounds = 20
	// callers is how many goroutines start and as many stop a part in a round.
	callers = 4
	// limit bounds each Start and Stop.
	limit = 30 * time.Second
)

// Stress starts and stops parts in every order, and at the same time, and fails when one breaks the contract, hangs or
// leaves goroutines behind. create returns a new part that was not started. Options exclude goroutines that a
// dependency of the part, such as a connection pool, starts at any time.
func Stress(t *testing.T, create func() lifecycle.Part, options ...goleak.Option) {
	t.Helper()
	options = append(options, goleak.IgnoreCurrent())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), rounds*limit)
	defer cancel()

	unused := create()
	require.NoError(t, unused.Stop(ctx), "Stop before Start")
	require.ErrorIs(t, unused.Start(ctx), lifecycle.ErrStopped, "Start after Stop")
	goleak.VerifyNone(t, options...)

	part := create()
	starting, started := context.WithCancel(ctx)
	require.NoError(t, part.Start(starting))
	started() // the end of this context is not the end of the part
	require.NoError(t, part.Start(ctx), "a second Start does nothing")
	require.NoError(t, part.Stop(ctx))
	require.NoError(t, part.Stop(ctx), "a second Stop does nothing")
	require.ErrorIs(t, part.Start(ctx), lifecycle.ErrStopped, "Start after Stop")
	goleak.VerifyNone(t, options...)

	hurried := create()
	require.NoError(t, hurried.Start(ctx))
	over, end := context.WithCancel(ctx)
	end()
	if err := hurried.Stop(over); err != nil { // a part that is quick may be done nevertheless
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, hurried.Stop(ctx), "with time, Stop waits")
	goleak.VerifyNone(t, options...)

	for range rounds {
		atOnce(ctx, t, create())
	}
	goleak.VerifyNone(t, options...)
}

// atOnce starts and stops one part from several goroutines. Whatever the order, it is stopped in the end.
func atOnce(ctx context.Context, t *testing.T, part lifecycle.Part) {
	t.Helper()
	var all sync.WaitGroup
	failures := make(chan error, callers)
	for range callers {
		all.Go(func() { _ = part.Start(ctx) }) // it fails when Stop was faster
		all.Go(func() { failures <- part.Stop(ctx) })
	}
	all.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.NoError(t, part.Stop(ctx))
	require.ErrorIs(t, part.Start(ctx), lifecycle.ErrStopped)
}
