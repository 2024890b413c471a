package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// waited runs Wait in the background and steps the clock until it returns.
func waited(t *testing.T, fake *clock.Fake, step time.Duration, p *stream.Pace) stream.Event {
	t.Helper()
	events := make(chan stream.Event, 1)
	go func() {
		event, err := p.Wait(t.Context(), nil, nil)
		if err == nil {
			events <- event
		}
	}()
	var event stream.Event
	require.Eventually(t, func() bool {
		select {
		case event = <-events:
			return true
		default:
			fake.Step(step)
			return false
		}
	}, wait, tick)
	return event
}

func TestPaceOfAnIdleStream(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	begin := fake.Now()
	p := stream.NewPace(fake, stream.Timing{Heartbeat: 15 * time.Second, Poll: 40 * time.Second, MaxAge: 10 * time.Minute})
	defer p.Stop()
	seen := map[stream.Event]int{}
	for {
		event := waited(t, fake, time.Second, p)
		seen[event]++
		if event == stream.Expired {
			break
		}
	}
	age := fake.Now().Sub(begin)
	require.GreaterOrEqual(t, age, 8*time.Minute)
	require.Positive(t, seen[stream.Heartbeat])
	require.Positive(t, seen[stream.Poll])
	require.Greater(t, seen[stream.Heartbeat], seen[stream.Poll])
}

// A heartbeat is due an interval after the last message.
func TestMessagesPutHeartbeatsOff(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p := stream.NewPace(fake, stream.Timing{Heartbeat: 15 * time.Second, MaxAge: time.Hour})
	defer p.Stop()
	fake.Step(10 * time.Second)
	p.Sent()
	sent := fake.Now()
	require.Equal(t, stream.Heartbeat, waited(t, fake, time.Second, p))
	require.GreaterOrEqual(t, fake.Now().Sub(sent), 15*time.Second)
}

// Streams that began together, after a restart of the server, do not end together.
func TestStreamsEndAtDifferentTimes(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	const streams = 50
	paces := make([]*stream.Pace, streams)
	for i := range paces {
		paces[i] = stream.NewPace(fake, stream.Timing{MaxAge: 10 * time.Minute})
		defer paces[i].Stop()
	}
	fake.Step(8*time.Minute - time.Second)
	require.Equal(t, streams, fake.Timers(), "none is more than a fifth younger than the limit")
	fake.Step(time.Minute + time.Second)
	require.Less(t, fake.Timers(), streams, "some have ended")
	require.Positive(t, fake.Timers(), "others have not")
	fake.Step(time.Minute)
	require.Zero(t, fake.Timers())
}

func TestWaitEndsWithItsReasons(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ready, pause, closing := make(chan struct{}, 1), make(chan time.Time, 1), make(chan struct{})
	p := stream.NewPace(fake, stream.Timing{MaxAge: time.Hour, Closing: closing})
	defer p.Stop()

	ready <- struct{}{}
	event, err := p.Wait(t.Context(), ready, pause)
	require.NoError(t, err)
	require.Equal(t, stream.Ready, event)

	pause <- fake.Now()
	event, err = p.Wait(t.Context(), ready, pause)
	require.NoError(t, err)
	require.Equal(t, stream.PauseOver, event)

	lost, lose := context.WithCancelCause(t.Context())
	lose(rpc.PermissionDenied("the right was taken away"))
	_, err = p.Wait(lost, ready, pause)
	require.Equal(t, rpc.KindPermissionDenied, rpc.KindOf(err))

	close(closing)
	_, err = p.Wait(t.Context(), ready, pause)
	require.True(t, rpc.IsUnavailable(err))
}
