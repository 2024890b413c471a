package reconciler

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
)

// A process that dies while cleanups wait leaves their TaskActions, from which its successor knows their pods.
func TestATaskActionIsRetainedUntilItsCleanupBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := newCleaning(t)
		sealed := make(chan struct{})
		ended := &entry{sealed: sealed, attempt: &plugin.Attempt{Number: 1}}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var retained []bool
		r := &Reconciler{cleanups: queue.cleanupQueue, lifetime: ctx, deps: Deps{
			Finished: func(*v1.TaskAction) { retained = append(retained, ended.retained()) },
		}}
		defer queue.keepProgressing()()
		close(sealed)
		require.False(t, ended.retained(), "an end that the runs service does not know yet")
		r.finish(&v1.TaskAction{}, ended)
		require.Equal(t, 1, queue.size())
		require.True(t, ended.retained(), "the cleanup waits for the end of a burst")

		removed := false
		r.cleanUp(ctx, &v1.TaskAction{}, ended, ended.attempt, func(context.Context, *plugin.Attempt) error { removed = true; return nil })
		require.True(t, removed)
		require.Equal(t, []bool{false}, retained, "its owner may delete it now")
		stop()
	})
}
