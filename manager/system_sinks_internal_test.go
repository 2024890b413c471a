package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/system"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// TestSinksThatLag: what waits for a sink is shown, and a sink for which something has waited long is degraded.
func TestSinksThatLag(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	_, err := pool.Exec(t.Context(), `
		INSERT INTO event_backlog (sink, run_id, first_seq, last_seq, at) SELECT 'slow', 1, 1, 1, now()
		UNION ALL SELECT 'stuck', 1, n, n, now() - interval '1 hour' FROM generate_series(1, 10001) n`)
	require.NoError(t, err)
	sinks := []string{"idle", "slow", "stuck"}
	found := system.SinkComponents(t.Context(), sinks, worklists.NewUnpublished(pool), clock.System{})
	require.Len(t, found, 3)
	require.Equal(t, "sink: idle", found[0].GetName())
	require.Equal(t, "nothing waits", found[0].GetMessage())
	require.Contains(t, found[1].GetMessage(), "1 change of a run waits, the oldest for")
	require.False(t, found[1].GetDegraded())
	require.Contains(t, found[2].GetMessage(), "more than 10000 changes of runs wait, the oldest for 1h0m")
	require.True(t, found[2].GetDegraded())
	require.True(t, found[2].GetHealthy(), "runs do not wait for it")

	pool.Close()
	found = system.SinkComponents(t.Context(), sinks, worklists.NewUnpublished(pool), clock.System{})
	require.True(t, found[0].GetDegraded(), "it is not known to be well")
}
