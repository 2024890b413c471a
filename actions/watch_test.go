package actions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/actions"
	actionspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	running   = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
)

type watchStream = connect.ServerStreamForClient[actionspb.WatchForUpdatesResponse]

func (f *fixture) watch(t *testing.T, ctx context.Context, parent string) *watchStream {
	t.Helper()
	stream, err := f.actions.WatchForUpdates(ctx, &actionspb.WatchForUpdatesRequest{
		Filter: &actionspb.WatchForUpdatesRequest_ParentActionId{ParentActionId: id(parent)},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = stream.Close() })
	return stream
}

func expectUpdate(t *testing.T, stream *watchStream, name string, phase common.ActionPhase) {
	t.Helper()
	require.True(t, stream.Receive(), stream.Err())
	require.Equal(t, name, stream.Msg().GetActionUpdate().GetActionId().GetName())
	require.Equal(t, phase, stream.Msg().GetActionUpdate().GetPhase())
}

func expectSentinel(t *testing.T, stream *watchStream) {
	t.Helper()
	require.True(t, stream.Receive(), stream.Err())
	require.True(t, stream.Msg().GetControlMessage().GetSentinel())
}

func hold(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestWatchPassesOnInOrder(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig(), func(ctx context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
		send(update("c1", running))
		send(sentinel())
		send(&actionspb.WatchForUpdatesResponse{}) // must not reach a client
		send(nil)
		send(update("c1", succeeded))
		send(sentinel())
		return hold(ctx)
	})
	stream := f.watch(t, t.Context(), "a0")
	expectUpdate(t, stream, "c1", running)
	expectSentinel(t, stream)
	expectUpdate(t, stream, "c1", succeeded)
	expectSentinel(t, stream)
}

func TestWatchReopensWhenItsSourceEndsOrBreaks(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig(),
		func(_ context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
			send(sentinel())
			return nil // a clean end
		},
		func(_ context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
			send(update("c1", running))
			return rpc.Unavailable(nil, "restart")
		},
		func(_ context.Context, _ func(*actionspb.WatchForUpdatesResponse)) error {
			return context.Canceled // the SDK would wait forever if it saw this
		},
		func(ctx context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
			send(update("c1", succeeded))
			return hold(ctx)
		},
	)
	stream := f.watch(t, t.Context(), "a0")
	expectSentinel(t, stream)
	go stepUntil(t, f, func() bool { return f.engine.count() == 4 })
	expectUpdate(t, stream, "c1", running)
	expectUpdate(t, stream, "c1", succeeded)
}

func (e *engine) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.subscriptions
}

// stepUntil steps the clock by one backoff at a time until done.
func stepUntil(t *testing.T, f *fixture, done func() bool) {
	for !done() && t.Context().Err() == nil {
		f.clock.Step(actions.DefaultConfig().Watch.Backoff.First)
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

func TestWatchEndsWithUnavailableAfterALongOutage(t *testing.T) {
	for name, failure := range map[string]error{
		"down":     rpc.Unavailable(nil, "down"),
		"canceled": context.Canceled,
		"bug":      errors.New("nil map"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, actions.DefaultConfig(), func(context.Context, func(*actionspb.WatchForUpdatesResponse)) error { return failure })
			go func() {
				for t.Context().Err() == nil {
					f.clock.Step(time.Second)
					<-time.After(time.Millisecond)
				}
			}()
			stream := f.watch(t, t.Context(), "a0")
			require.False(t, stream.Receive())
			require.Equal(t, connect.CodeUnavailable, connect.CodeOf(stream.Err()), stream.Err())
		})
	}
}

// Story R5: parents hung for hours after the server was restarted, on a watch whose connection was dead.
func TestWatchReopensWithoutHeartbeats(t *testing.T) {
	config := actions.DefaultConfig()
	f := newFixture(t, config,
		func(ctx context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
			send(sentinel())
			return hold(ctx) // half open: no more heartbeats
		},
		func(ctx context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
			send(update("c1", succeeded))
			return hold(ctx)
		},
	)
	stream := f.watch(t, t.Context(), "a0")
	expectSentinel(t, stream)
	f.clock.Step(config.Watch.MaxSilence)
	go stepUntil(t, f, func() bool { return f.engine.count() == 2 })
	expectUpdate(t, stream, "c1", succeeded)
}

func TestWatchEndsCleanlyAtItsMaximumAge(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig(), func(ctx context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
		send(sentinel())
		return hold(ctx)
	})
	stream := f.watch(t, t.Context(), "a0")
	expectSentinel(t, stream)
	go func() {
		for t.Context().Err() == nil {
			f.clock.Step(actions.DefaultConfig().Watch.MaxLifetime)
			<-time.After(time.Millisecond)
		}
	}()
	for stream.Receive() {
	}
	require.NoError(t, stream.Err())
}

func TestWatchOfAnUnknownParent(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig(), func(ctx context.Context, _ func(*actionspb.WatchForUpdatesResponse)) error { return hold(ctx) })
	stream := f.watch(t, t.Context(), "unknown")
	require.False(t, stream.Receive())
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(stream.Err()))

	for _, request := range []*actionspb.WatchForUpdatesRequest{
		{},
		{Filter: &actionspb.WatchForUpdatesRequest_ParentActionId{}},
		{Filter: &actionspb.WatchForUpdatesRequest_ParentActionId{ParentActionId: &common.ActionIdentifier{Name: "a0"}}},
	} {
		stream, err := f.actions.WatchForUpdates(t.Context(), request)
		require.NoError(t, err)
		require.False(t, stream.Receive())
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(stream.Err()), stream.Err())
		require.NoError(t, stream.Close())
	}
}

func TestStateServiceWatch(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig(), func(ctx context.Context, send func(*actionspb.WatchForUpdatesResponse)) error {
		send(update("c1", running))
		send(sentinel())
		return hold(ctx)
	})
	stream, err := f.state.Watch(t.Context(), &workflow.WatchRequest{
		Filter: &workflow.WatchRequest_ParentActionId{ParentActionId: id("a0")},
	})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	require.True(t, stream.Receive())
	require.Equal(t, "c1", stream.Msg().GetActionUpdate().GetActionId().GetName())
	require.True(t, stream.Receive())
	require.True(t, stream.Msg().GetControlMessage().GetSentinel())
}

func TestConfig(t *testing.T) {
	require.NoError(t, actions.DefaultConfig().Validate())
	for field, spoil := range map[string]func(*actions.Config){
		"callTimeout":         func(c *actions.Config) { c.CallTimeout = 0 },
		"watch.maxLifetime":   func(c *actions.Config) { c.Watch.MaxLifetime = 0 },
		"watch.maxSilence":    func(c *actions.Config) { c.Watch.MaxSilence = 0 },
		"watch.maxOutage":     func(c *actions.Config) { c.Watch.MaxOutage = 0 },
		"watch.backoff.first": func(c *actions.Config) { c.Watch.Backoff.First = 0 },
		"watch.backoff.max":   func(c *actions.Config) { c.Watch.Backoff.Max = 0 },
	} {
		config := actions.DefaultConfig()
		spoil(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
	_, err := actions.New(actions.DefaultConfig(), actions.Deps{})
	require.Error(t, err)
}
