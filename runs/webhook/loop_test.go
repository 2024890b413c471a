package webhook

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// list has one call until it is dropped. reading runs after the list was read and before it is returned.
type list struct {
	call    worklists.PendingWebhook
	reading func()
	dropped atomic.Bool
}

func (l *list) Pending(context.Context, time.Time, time.Duration, int) ([]worklists.PendingWebhook, error) {
	if l.dropped.Load() {
		return nil, nil
	}
	l.reading()
	return []worklists.PendingWebhook{l.call}, nil
}

func (l *list) Postpone(context.Context, int64, int, time.Time) error { return nil }
func (l *list) Drop(context.Context, int64) error                     { l.dropped.Store(true); return nil }

func (l *list) RecordTransitions(context.Context, []store.Transition) ([]store.Outcome, error) {
	return nil, nil
}

// A call that ends while the list is read is still in the list, and must not be made again.
func TestACallThatEndsWhileTheListIsReadIsMadeOnce(t *testing.T) {
	var calls atomic.Int32
	answer := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1); <-answer }))
	t.Cleanup(receiver.Close)
	spec, err := proto.Marshal(&workflow.ConditionAction{Webhook: &workflow.ConditionWebhook{Url: receiver.URL}})
	require.NoError(t, err)
	due := &list{call: worklists.PendingWebhook{Condition: worklists.Condition{ID: 1, Phase: state.Paused, Spec: spec}}, reading: func() {}}
	config := DefaultConfig()
	config.PublicURL, config.Allow = receiver.URL, []string{"127.0.0.0/8"}
	loop, err := New(config, Deps{List: due, Writer: due, Tokens: NewTokens("key", nil), Clock: clock.System{}, Logger: zerolog.Nop()})
	require.NoError(t, err)

	var running sync.WaitGroup
	require.NoError(t, loop.launch(t.Context(), running.Go))
	require.Equal(t, config.Parallel-1, loop.places.Free(), "it is in flight")
	due.reading = func() {
		close(answer)
		running.Wait()
	}
	require.NoError(t, loop.launch(t.Context(), running.Go))
	running.Wait()
	require.True(t, due.dropped.Load())
	require.Equal(t, int32(1), calls.Load())
}
