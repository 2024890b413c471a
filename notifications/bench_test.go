package notifications_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/notifications"
)

// BenchmarkOutbox takes entries from the outbox to a sink on this machine: each is expanded, claimed, sent and recorded.
func BenchmarkOutbox(b *testing.B) {
	f := newFixture(b, func(c *notifications.Config) { c.Parallel = 128 })
	require.NoError(b, f.service.Stop(context.WithoutCancel(b.Context())))
	s := newSink(b, nil)
	f.create("bench", rules(webhook(s.URL, body, failed)))
	_, err := f.pool.Exec(b.Context(), `
		INSERT INTO notification_outbox (run_id, action_id, phase, at)
		SELECT id, id, 6, now() FROM actions, generate_series(1, $1::integer) WHERE run_name = 'bench'`, b.N)
	require.NoError(b, err)
	b.ResetTimer()
	f.begin()
	require.Eventually(b, func() bool {
		var delivered int
		require.NoError(b, f.pool.QueryRow(b.Context(), `SELECT count(*) FROM notification_deliveries WHERE ended_at IS NOT NULL`).Scan(&delivered))
		return delivered == b.N
	}, 10*time.Minute, 5*time.Millisecond)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
