package apipace_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// call makes one call; a clock's time passes as long as the gate makes it pause.
func call(t *testing.T, gate *apipace.Gate, clk *clock.Fake, late bool) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- gate.Do(t.Context(), func() bool { return late }) }()
	require.Eventually(t, func() bool {
		if clk.Timers() > 0 {
			clk.Step(10 * time.Second)
		}
		select {
		case err := <-ended:
			require.NoError(t, err)
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
}

func TestABoundHalvesAndGrowsBackStepByStep(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	gate := apipace.NewGate(clk, 2, 16)
	for _, want := range []int{8, 4, 2, 2} {
		call(t, gate, clk, true)
		require.Equal(t, want, gate.Bound())
	}
	calls := 0
	for ; gate.Bound() < 16; calls++ {
		require.Less(t, calls, 1000)
		call(t, gate, clk, false)
	}
	require.Greater(t, calls, 50, "step by step")
	call(t, gate, clk, false)
	require.Equal(t, 16, gate.Bound())
}

// TestWritersBackOffTogether has 200 writers whose API server is overloaded. They all tried again at full load, which kept it
// busy with calls that no one waited for: 8,034 of them ran into their deadlines.
func TestWritersBackOffTogether(t *testing.T) {
	const most, writers = 16, 200
	clk := clock.NewFake(time.Unix(1000, 0))
	gate := apipace.NewGate(clk, 1, most)
	var atOnce, peak atomic.Int64
	answer := make(chan bool) // whether the next answer is late
	do := func() bool {
		peak.Store(max(peak.Load(), atOnce.Add(1)))
		defer atOnce.Add(-1)
		return <-answer
	}
	var group sync.WaitGroup
	for range writers {
		group.Go(func() { _ = gate.Do(t.Context(), do) })
	}
	require.Eventually(t, func() bool { return atOnce.Load() == most }, 10*time.Second, time.Millisecond)
	for range most {
		answer <- true
	}
	require.Eventually(t, func() bool { return clk.Timers() == most/2 }, 10*time.Second, time.Millisecond, "they make a pause")
	require.Equal(t, most/2, gate.Bound(), "calls that were under way together halve it once")
	require.Zero(t, atOnce.Load(), "nothing is asked meanwhile")
	peak.Store(0)
	clk.Step(10 * time.Second)
	require.Eventually(t, func() bool { return atOnce.Load() == most/2 }, 10*time.Second, time.Millisecond)
	require.EqualValues(t, most/2, peak.Load())
	for range writers - most { // it answers in time again
		answer <- false
	}
	group.Wait()
	require.Greater(t, gate.Bound(), most/2)
}

func TestAWriterThatGivesUpLeavesNoGap(t *testing.T) {
	gate := apipace.NewGate(clock.System{}, 1, 2)
	hold := make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { _ = gate.Do(t.Context(), func() bool { <-hold; return false }) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range 50 {
		group.Go(func() { _ = gate.Do(ctx, func() bool { return false }) })
	}
	cancel()
	close(hold)
	group.Wait()
	for range 10 {
		require.NoError(t, gate.Do(t.Context(), func() bool { return false }))
	}
	require.ErrorIs(t, gate.Do(ctx, func() bool { return false }), context.Canceled)
}

// TestOnlyWritesWait has a server that refuses writes: reads and Leases pass, and writes come one by one in the end.
func TestOnlyWritesWait(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	gate := apipace.NewGate(clk, 1, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "pods") {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: gate.Wrap(http.DefaultTransport)}
	send := func(ctx context.Context, method, path string) error {
		request, err := http.NewRequestWithContext(ctx, method, server.URL+path, strings.NewReader("{}"))
		require.NoError(t, err)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	require.NoError(t, send(t.Context(), http.MethodPatch, "/pods/a"))
	require.Equal(t, 2, gate.Bound())
	require.NoError(t, send(t.Context(), http.MethodGet, "/pods/a"))
	require.NoError(t, send(t.Context(), http.MethodPatch, "/apis/coordination.k8s.io/v1/namespaces/n/leases/a"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- send(ctx, http.MethodPatch, "/pods/b") }()
	require.Eventually(t, func() bool { return clk.Timers() == 1 }, 10*time.Second, time.Millisecond, "a write makes a pause")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
