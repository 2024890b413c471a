package lifecycle_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

func TestBackground(t *testing.T) {
	var early lifecycle.Background
	require.NoError(t, early.Stop(t.Context()), "before the start")
	require.ErrorIs(t, early.Run(t.Context()), lifecycle.ErrStopped, "it stays stopped")

	var b lifecycle.Background

	type key struct{}
	starting, started := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	seen := make(chan any, 3)
	loop := func(ctx context.Context) {
		seen <- ctx.Value(key{})
		<-ctx.Done()
	}
	require.NoError(t, b.Run(starting, loop, loop))
	require.NoError(t, b.Run(starting, loop), "does nothing")
	started()
	require.Equal(t, "value", <-seen)
	require.Equal(t, "value", <-seen)
	require.NoError(t, b.Stop(t.Context()), "the loops outlived the start's context and end now")
	require.NoError(t, b.Stop(t.Context()), "twice")
	require.Empty(t, seen)

	var stubborn lifecycle.Background
	release := make(chan struct{})
	require.NoError(t, stubborn.Run(t.Context(), func(context.Context) { <-release }))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, stubborn.Stop(over), context.Canceled)
	close(release)
	require.NoError(t, stubborn.Stop(t.Context()))
}
