package manager

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/executor/reconciler"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestOldReconcilesDegradeAndVeryOldOnesAreDead(t *testing.T) {
	running := reconciler.Running{Action: "p/d/run/a0", Doing: "reading s3://bucket/error.pb"}
	found := false
	longest := func() (reconciler.Running, bool) { return running, found }
	degraded, dead := reconciles(longest, time.Minute, 1), reconciles(longest, time.Minute, deadAfter)
	running.Age = time.Hour
	require.NoError(t, degraded(t.Context()), "none runs")
	found = true
	for age, want := range map[time.Duration][2]bool{
		time.Minute:      {false, false},
		2 * time.Minute:  {true, false},
		10 * time.Minute: {true, false},
		11 * time.Minute: {true, true},
	} {
		running.Age = age
		require.Equal(t, want, [2]bool{degraded(t.Context()) != nil, dead(t.Context()) != nil}, age)
	}
	running.Age = time.Hour
	require.ErrorContains(t, dead(t.Context()), "p/d/run/a0")
}

func TestTheStoreIsWrittenOnceInAWhile(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	writes, answer := 0, error(nil)
	probe := &atMost{run: func(context.Context) error { writes++; return answer }, every: time.Minute, clock: clk}
	for range 3 {
		require.NoError(t, probe.check(t.Context()))
	}
	require.Equal(t, 1, writes)
	clk.Step(time.Minute)
	answer = errors.New("no space left on device")
	for range 3 {
		require.ErrorIs(t, probe.check(t.Context()), answer)
	}
	require.Equal(t, 2, writes)
	clk.Step(time.Minute)
	answer = context.Canceled
	require.Error(t, probe.check(t.Context()))
	answer = nil
	require.NoError(t, probe.check(t.Context()), "a caller that left has learned nothing")
	require.Equal(t, 4, writes)
}
