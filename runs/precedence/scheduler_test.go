package precedence

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestProcessorsAreShortWhileGoroutinesWait(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	s := NewScheduler(clk)
	var quick, slow uint64
	reads := 0
	s.read = func() ([]uint64, []float64) {
		reads++
		return []uint64{quick, 0, slow}, []float64{0, 0.0005, 0.001, 1}
	}
	require.True(t, s.Short(), "nothing is known yet")
	quick = 1000
	require.True(t, s.Short())
	require.Equal(t, 1, reads, "one reading in a window")

	clk.Step(window)
	require.False(t, s.Short())
	quick, slow = quick+100, 3
	clk.Step(window)
	require.True(t, s.Short(), "3 % waited for a millisecond or longer")
	for range calm/window - 1 {
		quick, slow = quick+100, slow+1
		clk.Step(window)
		require.True(t, s.Short(), "1 %, but not for long")
	}
	clk.Step(window)
	require.False(t, s.Short())

	clk.Step(stale)
	require.True(t, s.Short(), "what happened minutes ago tells nothing")
	clk.Step(-time.Hour)
	require.True(t, s.Short(), "so does a clock that was put back")
	clk.Step(window)
	require.False(t, s.Short(), "the next window tells")
}

// TestSchedulerSeesWaits: the runtime publishes the histogram that Scheduler reads, and waits appear in it as long ones.
func TestSchedulerSeesWaits(t *testing.T) {
	s := NewScheduler(clock.System{})
	before := s.waitsUntilNow()
	done := make(chan struct{})
	for range 64 * runtime.GOMAXPROCS(0) { // far more than can run at once, each for longer than a long wait
		go func() {
			for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
			}
			done <- struct{}{}
		}()
	}
	for range 64 * runtime.GOMAXPROCS(0) {
		<-done
	}
	after := s.waitsUntilNow()
	require.Greater(t, after.all, before.all)
	require.Greater(t, after.long, before.long)
}
