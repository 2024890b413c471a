package drift_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/kube/drift"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// TestRepairsAfterAKillAreOneLine has as many repairs as a kill of everything left: 400 warnings said "drift repaired".
func TestRepairsAfterAKillAreOneLine(t *testing.T) {
	var out bytes.Buffer
	clk := clock.NewFake(time.Unix(0, 0))
	journal := drift.NewJournal(clk, zerolog.New(&out))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); journal.Run(ctx) }()
	for i := range 400 {
		journal.Add([]string{"pod_orphaned", "task_action_finished"}[i%2], true, fmt.Sprint("object ", i))
	}
	journal.Add("pod_deleted", false, "a pod that a person deleted")
	require.Eventually(t, func() bool { return clk.Timers() == 1 }, 10*time.Second, time.Millisecond)
	clk.Step(time.Minute)
	cancel()
	<-ended

	lines := json.NewDecoder(&out)
	var expected, other struct {
		Level, First string
		Repairs      int
		Kinds        map[string]int
	}
	require.NoError(t, lines.Decode(&expected))
	require.NoError(t, lines.Decode(&other))
	require.False(t, lines.More(), "no line for each repair")
	require.Equal(t, "info", expected.Level)
	require.Equal(t, 400, expected.Repairs)
	require.Equal(t, map[string]int{"pod_orphaned": 200, "task_action_finished": 200}, expected.Kinds)
	require.Equal(t, "object 0", expected.First)
	require.Equal(t, "warn", other.Level)
	require.Equal(t, map[string]int{"pod_deleted": 1}, other.Kinds)
}

func TestWhatIsNotedAtTheEndIsLogged(t *testing.T) {
	var out bytes.Buffer
	journal := drift.NewJournal(clock.NewFake(time.Unix(0, 0)), zerolog.New(&out))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	journal.Add("pod_deleted", false, "a pod")
	journal.Run(ctx)
	require.Contains(t, out.String(), `"pod_deleted":1`)
}
