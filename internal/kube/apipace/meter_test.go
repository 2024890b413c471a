package apipace_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestASlowServerIsSeenAndForgotten(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	meter := apipace.NewMeter(clk)
	require.NoError(t, meter.LastMinute().Err(), "nothing was called")
	for range 8 {
		meter.Observe(time.Millisecond, false)
	}
	meter.Observe(6*time.Second, false)
	require.NoError(t, meter.LastMinute().Err(), "too few calls")
	meter.Observe(31*time.Second, true)
	require.True(t, meter.LastMoments().Slow())
	require.ErrorContains(t, meter.LastMinute().Err(), "2 of the 10 calls to the API server in the last minute took longer than 5s or had no answer (the longest took 31s)")
	require.InDelta(t, 0.2, meter.LastMinute().Share(), 1e-9)
	clk.Step(20 * time.Second)
	require.False(t, meter.LastMoments().Slow(), "it was slow a moment ago")
	require.True(t, meter.LastMinute().Slow())
	for range 100 {
		meter.Observe(time.Millisecond, false)
	}
	require.False(t, meter.LastMinute().Slow(), "a few slow ones are normal")
	clk.Step(time.Minute)
	require.Equal(t, apipace.Recent{}, meter.LastMinute())
}

// answers is a transport that takes some time of a clock for each answer.
type answers struct {
	clk    *clock.Fake
	took   time.Duration
	status int
	err    error
}

func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	a.clk.Step(a.took)
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Body: http.NoBody, Request: request}, nil
}

func TestWhichCallsAreLate(t *testing.T) {
	const pods = "/api/v1/namespaces/n/pods"
	for name, c := range map[string]struct {
		url         string
		answers     answers
		calls, late int
	}{
		"in time":            {pods, answers{took: time.Second, status: http.StatusOK}, 1, 0},
		"an error in time":   {pods, answers{took: time.Second, status: http.StatusInternalServerError}, 1, 0},
		"slow":               {pods, answers{took: 6 * time.Second, status: http.StatusOK}, 1, 1},
		"come back later":    {pods, answers{status: http.StatusTooManyRequests}, 1, 1},
		"its own deadline":   {pods, answers{err: context.DeadlineExceeded}, 1, 1},
		"the server is down": {pods, answers{err: errors.New("connection refused")}, 0, 0},
		"the caller left":    {pods, answers{err: context.Canceled}, 0, 0},
		"a watch may last":   {pods + "?watch=true", answers{took: time.Minute, status: http.StatusOK}, 0, 0},
		"and so may logs":    {pods + "/a/log?follow=true", answers{took: time.Minute, status: http.StatusOK}, 0, 0},
		"a health check":     {"/version", answers{took: time.Second, status: http.StatusOK}, 0, 0},
		"a slow list":        {pods + "?limit=500", answers{took: 31 * time.Second, status: http.StatusOK}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.answers.clk = clock.NewFake(time.Unix(1000, 0))
			meter := apipace.NewMeter(c.answers.clk)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server"+c.url, nil)
			require.NoError(t, err)
			response, err := meter.Wrap(c.answers).RoundTrip(request)
			if err == nil {
				require.NoError(t, response.Body.Close())
			}
			recent := meter.LastMinute()
			require.Equal(t, [2]int{c.calls, c.late}, [2]int{recent.Calls, recent.Late})
		})
	}
}
