package cloudevents_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

// BenchmarkPublish empties a list of b.N changes of 500 runs, each of one event: it reads, sends and removes them. The
// receivers are in this process, and their CPU is in the figure.
func BenchmarkPublish(b *testing.B) {
	b.Run("http", func(b *testing.B) {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
		b.Cleanup(server.Close)
		benchmarkSink(b, cloudevents.Sink{Type: "http", URL: server.URL})
	})
	b.Run("nats", func(b *testing.B) {
		broker := startNATS(b, -1, b.TempDir())
		b.Cleanup(func() {
			broker.Shutdown()
			broker.WaitForShutdown()
		})
		conn, err := nats.Connect(broker.ClientURL(), nats.UserInfo("flyte", "secret"))
		require.NoError(b, err)
		b.Cleanup(conn.Close)
		stream, err := jetstream.New(conn)
		require.NoError(b, err)
		// The list has events several times. With a short window the stream stores all of them.
		_, err = stream.CreateStream(b.Context(), jetstream.StreamConfig{Name: "FLYTE", Subjects: []string{"flyte.>"}, Duplicates: 100 * time.Millisecond})
		require.NoError(b, err)
		benchmarkSink(b, cloudevents.Sink{Type: "nats", URL: broker.ClientURL(), Username: "flyte", Password: "secret"})
	})
	b.Run("kafka", func(b *testing.B) {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "flyte"))
		require.NoError(b, err)
		b.Cleanup(cluster.Close)
		benchmarkSink(b, cloudevents.Sink{Type: "kafka", Brokers: cluster.ListenAddrs(), Topic: "flyte"})
	})
}

func benchmarkSink(b *testing.B, sink cloudevents.Sink) {
	const runs, writers = 500, 50
	f := newFixture(b, sink)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range runs / writers {
				f.run(fmt.Sprintf("run-%d-%d", w, i))
			}
		})
	}
	group.Wait()
	for _, statement := range []string{
		`DELETE FROM event_backlog WHERE $1 >= 0`,
		`INSERT INTO event_backlog (sink, run_id, first_seq, last_seq, at)
			SELECT 'sink', run_id, seq, seq, now() FROM action_events, generate_series(0, $1 / 2000) AS n ORDER BY n, seq, run_id LIMIT $1`,
	} {
		_, err := f.pool.Exec(b.Context(), statement, b.N)
		require.NoError(b, err)
	}
	_, err := f.pool.Exec(b.Context(), `ANALYZE event_backlog`)
	require.NoError(b, err)
	before := cpu(b)
	b.ResetTimer()
	f.begin()
	require.Eventually(b, func() bool {
		var left bool
		require.NoError(b, f.pool.QueryRow(b.Context(), `SELECT EXISTS (SELECT FROM event_backlog)`).Scan(&left))
		return !left
	}, 10*time.Minute, 5*time.Millisecond)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "µs-CPU/event")
}

// cpu is the CPU time of this process so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
