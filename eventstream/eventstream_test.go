package eventstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/eventstream"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// backlog is the runs service's list, as the manager passes it.
type backlog struct{ *store.Unpublished }

func (b backlog) Ranges(ctx context.Context, sink string, limit int) ([]eventstream.Range, error) {
	rows, err := b.Unpublished.Ranges(ctx, sink, limit)
	var found []eventstream.Range
	for _, row := range rows {
		found = append(found, eventstream.Range{ID: row.ID, RunID: row.RunID, First: row.First, Last: row.Last})
	}
	return found, err
}

func (b backlog) Events(ctx context.Context, ranges []eventstream.Range) ([]eventstream.Event, error) {
	var wanted []store.Range
	for _, r := range ranges {
		wanted = append(wanted, store.Range{ID: r.ID, RunID: r.RunID, First: r.First, Last: r.Last})
	}
	rows, err := b.Unpublished.Events(ctx, wanted)
	var found []eventstream.Event
	for _, row := range rows {
		found = append(found, eventstream.Event{
			RunID: row.RunID, Seq: row.Seq, Action: row.Action, Parent: row.Parent, Type: workflow.ActionType(row.Type), TaskName: row.TaskName,
			Attempt: row.Attempt, Phase: common.ActionPhase(row.Phase), Version: row.Version, At: row.RecordedAt, Error: row.Error,
		})
	}
	return found, err
}

// fixture is a writer of runs, and the service on the same database.
type fixture struct {
	t      *testing.T
	pool   *pgxpool.Pool
	writer *store.Writer
	config eventstream.Config
}

func newFixture(t *testing.T, sink eventstream.Sink) *fixture {
	t.Helper()
	f := &fixture{t: t, pool: pgtest.Schemas(t, store.Schema()), config: eventstream.DefaultConfig()}
	sink.Name = "sink"
	f.config.Sinks = []eventstream.Sink{sink}
	f.config.Poll, f.config.Timeout = 10*time.Millisecond, 5*time.Second
	f.config.Backoff.First, f.config.Backoff.Max = 10*time.Millisecond, 50*time.Millisecond
	writer := store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{
		Pool: f.pool, Logger: zerolog.Nop(), Replica: "test", EventSinks: f.config.Names(),
	})
	require.NoError(t, writer.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, writer.Stop(context.WithoutCancel(t.Context()))) })
	f.writer = writer
	return f
}

// begin starts the service, as a process that starts does.
func (f *fixture) begin() *eventstream.Service {
	f.t.Helper()
	s, err := eventstream.New(f.config, eventstream.Deps{
		Backlog: backlog{store.NewUnpublished(f.pool)}, Leases: pgdb.NewLeases(f.pool, clock.System{}, f.t.Name()+time.Now().String()), Logger: zerolog.Nop(),
	})
	require.NoError(f.t, err)
	require.NoError(f.t, s.Start(f.t.Context()))
	f.t.Cleanup(func() { f.stop(s) })
	return s
}

func (f *fixture) stop(s *eventstream.Service) {
	require.NoError(f.t, s.Stop(context.WithoutCancel(f.t.Context())))
}

// run creates a run and takes it through its phases; it makes four events.
func (f *fixture) run(name string) {
	f.t.Helper()
	root := store.Root{Labels: map[string]string{}}
	root.Project, root.Domain, root.RunName, root.TaskName, root.Queue = "p", "d", name, "env.main", "default"
	_, created, err := f.writer.CreateRun(f.t.Context(), store.NewRun{Root: root})
	require.NoError(f.t, err)
	require.True(f.t, created)
	failure, err := proto.Marshal(&core.ExecutionError{Code: "Boom", Message: "it \"broke\"\nbadly"})
	require.NoError(f.t, err)
	for _, phase := range []state.Phase{state.Initializing, state.Running, state.Failed} {
		transition := store.Transition{
			Action: ident.Run{Project: "p", Domain: "d", Name: name}.Root(), To: state.Position{Attempt: 1, Phase: phase},
		}
		if phase == state.Failed {
			transition.Error = failure
		}
		_, err := f.writer.RecordTransitions(f.t.Context(), []store.Transition{transition})
		require.NoError(f.t, err)
	}
}

// received are events as a sink got them.
type received struct {
	mu     sync.Mutex
	events []event
}

type event struct {
	SpecVersion, ID, Source, Type, Subject, PartitionKey, Sequence, DataContentType string
	Time                                                                            time.Time
	Data                                                                            struct {
		Project, Domain, Run, Action, Kind, Task, Phase, Error, ErrorCode string
		Sequence                                                          int64
	}
}

func (r *received) add(t *testing.T, body []byte) {
	var one event
	if err := json.Unmarshal(body, &one); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, one)
}

func (r *received) of(run string) (list []event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.events {
		if one.Data.Run == run {
			list = append(list, one)
		}
	}
	return list
}

// whole reports whether every event of a run arrived, the first time in order.
func (r *received) whole(run string) bool {
	var order []int64
	for _, one := range r.of(run) {
		if !slices.Contains(order, one.Data.Sequence) {
			order = append(order, one.Data.Sequence)
		}
	}
	return slices.Equal(order, []int64{1, 2, 3, 4})
}

func (f *fixture) await(r *received, runs ...string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		var left int
		require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT count(*) FROM event_backlog`).Scan(&left))
		return left == 0 && !slices.ContainsFunc(runs, func(run string) bool { return !r.whole(run) })
	}, 30*time.Second, 10*time.Millisecond)
}

// TestHTTP: a sink that fails now and then gets everything, in order for each run, as CloudEvents.
func TestHTTP(t *testing.T) {
	got := &received{}
	calls := 0
	var mu sync.Mutex
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		calls++
		fail := calls%3 == 0
		mu.Unlock()
		if fail {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.Header.Get("Content-Type") != "application/cloudevents+json" || r.Header.Get("X-Key") != "secret" || r.Header.Get("Idempotency-Key") == "" {
			t.Errorf("headers: %v", r.Header)
		}
		got.add(t, body)
	}))
	t.Cleanup(sink.Close)
	f := newFixture(t, eventstream.Sink{Type: "http", URL: sink.URL, Headers: map[string]string{"X-Key": "secret"}})
	f.config.Batch = 2
	f.begin()
	for _, name := range []string{"a", "b", "c"} {
		f.run(name)
	}
	f.await(got, "a", "b", "c")
	last := got.of("a")[len(got.of("a"))-1]
	require.Equal(t, "1.0", last.SpecVersion)
	require.Equal(t, "/flyte-binary", last.Source)
	require.Equal(t, "org.flyte.run.phase", last.Type)
	require.Equal(t, "a/a0", last.Subject)
	require.Equal(t, "p/d/a", last.PartitionKey)
	require.Equal(t, "application/json", last.DataContentType)
	require.False(t, last.Time.IsZero())
	require.Equal(t, "FAILED it \"broke\"\nbadly Boom env.main task", last.Data.Phase+" "+last.Data.Error+" "+last.Data.ErrorCode+" "+last.Data.Task+" "+last.Data.Kind)
	ids := map[string]int64{}
	for _, one := range append(got.of("a"), append(got.of("b"), got.of("c")...)...) {
		if seq, again := ids[one.ID]; again {
			require.Equal(t, seq, one.Data.Sequence, "the id of a repetition is that of the event")
		}
		ids[one.ID] = one.Data.Sequence
	}
	require.Len(t, ids, 12)
}

// TestResume: what happened while nothing published, and what was not confirmed, is sent by the next process.
func TestResume(t *testing.T) {
	got := &received{}
	held := make(chan struct{})
	hold := true
	var mu sync.Mutex
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		slow := hold
		hold = false
		mu.Unlock()
		got.add(t, body)
		if slow {
			close(held)
			<-r.Context().Done() // it took the event, and the answer is lost
		}
	}))
	t.Cleanup(sink.Close)
	f := newFixture(t, eventstream.Sink{Type: "http", URL: sink.URL})
	f.run("before")
	s := f.begin()
	<-held
	f.stop(s)
	f.run("between")
	f.begin()
	f.await(got, "before", "between")
	require.Greater(t, len(got.of("before")), 4, "at least once")
}

// TestGap: events of a run that was deleted before they were sent are skipped; a sink that takes nothing loses what is
// too old.
func TestGap(t *testing.T) {
	got := &received{}
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.add(t, body)
	}))
	t.Cleanup(sink.Close)
	f := newFixture(t, eventstream.Sink{Type: "http", URL: sink.URL})
	f.run("deleted")
	_, err := f.pool.Exec(t.Context(), `DELETE FROM actions`)
	require.NoError(t, err)
	f.run("kept")
	_, err = f.pool.Exec(t.Context(), `INSERT INTO event_backlog (sink, run_id, first_seq, last_seq, at) VALUES ('renamed', 1, 1, 1, now() - interval '8 days')`)
	require.NoError(t, err)
	f.begin()
	f.await(got, "kept")
	require.Empty(t, got.of("deleted"))
}

func TestNoSinksCostNothing(t *testing.T) {
	f := newFixture(t, eventstream.Sink{Type: "http", URL: "http://localhost"})
	quiet := store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{Pool: f.pool, Logger: zerolog.Nop(), Replica: "quiet"})
	require.NoError(t, quiet.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, quiet.Stop(context.WithoutCancel(t.Context()))) })
	f.writer = quiet
	f.run("quiet")
	var left int
	require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM event_backlog`).Scan(&left))
	require.Zero(t, left)
}

// startNATS starts a NATS server with JetStream on a port, or a free one.
func startNATS(t *testing.T, port int, folder string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: folder, NoLog: true, NoSigs: true, Username: "flyte", Password: "secret",
	})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(20*time.Second))
	return s
}

// TestNATS: a real server that stops and comes back gets everything once, on the subject of the run.
func TestNATS(t *testing.T) {
	folder := t.TempDir()
	broker := startNATS(t, -1, folder)
	address := broker.ClientURL()
	port := broker.Addr().String()
	conn, err := nats.Connect(address, nats.UserInfo("flyte", "secret"))
	require.NoError(t, err)
	stream, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = stream.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FLYTE", Subjects: []string{"flyte.>"}})
	require.NoError(t, err)
	conn.Close()
	f := newFixture(t, eventstream.Sink{Type: "nats", URL: address, Username: "flyte", Password: "secret"})
	f.begin()
	f.run("up")
	f.await(&received{})
	broker.Shutdown()
	broker.WaitForShutdown()
	f.run("down")
	var number int
	_, err = fmt.Sscanf(port, "127.0.0.1:%d", &number)
	require.NoError(t, err)
	broker = startNATS(t, number, folder)
	t.Cleanup(func() {
		broker.Shutdown()
		broker.WaitForShutdown()
	})
	f.await(&received{})

	conn, err = nats.Connect(address, nats.UserInfo("flyte", "secret"))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	stream, err = jetstream.New(conn)
	require.NoError(t, err)
	consumer, err := stream.OrderedConsumer(t.Context(), "FLYTE", jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	batch, err := consumer.Fetch(8, jetstream.FetchMaxWait(20*time.Second))
	require.NoError(t, err)
	got := &received{}
	for one := range batch.Messages() {
		got.add(t, one.Data())
		require.Contains(t, []string{"flyte.p.d.up", "flyte.p.d.down"}, one.Subject())
		require.Equal(t, "application/cloudevents+json", one.Headers().Get("Content-Type"))
	}
	require.NoError(t, batch.Error())
	require.True(t, got.whole("up"), got.of("up"))
	require.True(t, got.whole("down"), got.of("down"))
	require.Len(t, got.of("up"), 4, "repetitions are dropped by their id")
}

// TestKafka: a server of Kafka's protocol gets the events of a run in one partition.
func TestKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "flyte"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	f := newFixture(t, eventstream.Sink{Type: "kafka", Brokers: cluster.ListenAddrs(), Topic: "flyte"})
	f.begin()
	for _, name := range []string{"a", "b", "c"} {
		f.run(name)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("flyte"))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	got, partitions := &received{}, map[string]int32{}
	for !got.whole("a") || !got.whole("b") || !got.whole("c") {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			got.add(t, r.Value)
			if known, seen := partitions[string(r.Key)]; seen {
				require.Equal(t, known, r.Partition)
			}
			partitions[string(r.Key)] = r.Partition
		})
	}
	require.Len(t, partitions, 3)
	f.await(got, "a", "b", "c")
}

// TestConfigurationsThatAreRefused name the field.
func TestConfigurationsThatAreRefused(t *testing.T) {
	valid := eventstream.Sink{Name: "a", Type: "http", URL: "https://example.com"}
	for words, change := range map[string]func(*eventstream.Config){
		"sinks[1].name": func(c *eventstream.Config) { c.Sinks = append(c.Sinks, valid) },
		"sinks[0].name": func(c *eventstream.Config) { c.Sinks[0].Name = "A" },
		"sinks[0].type": func(c *eventstream.Config) { c.Sinks[0].Type = "pigeon" },
		"sinks[0].url":  func(c *eventstream.Config) { c.Sinks[0].URL = "ftp://x" },
		"sinks[0].subject": func(c *eventstream.Config) {
			c.Sinks[0] = eventstream.Sink{Name: "a", Type: "nats", URL: "nats://x:1", Subject: "a.>"}
		},
		"sinks[0].brokers": func(c *eventstream.Config) { c.Sinks[0] = eventstream.Sink{Name: "a", Type: "kafka"} },
		"sinks[0].topic": func(c *eventstream.Config) {
			c.Sinks[0] = eventstream.Sink{Name: "a", Type: "kafka", Brokers: []string{"b"}}
		},
		"sinks[0].tls": func(c *eventstream.Config) {
			c.Sinks[0] = eventstream.Sink{Name: "a", Type: "kafka", Brokers: []string{"b"}, Topic: "t", Password: "x"}
		},
		"source": func(c *eventstream.Config) { c.Source = "" },
		"batch":  func(c *eventstream.Config) { c.Batch = 0 },
		"keep":   func(c *eventstream.Config) { c.Keep = 0 },
		"lease":  func(c *eventstream.Config) { c.Lease = 0 },
	} {
		config := eventstream.DefaultConfig()
		config.Sinks = []eventstream.Sink{valid}
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), words)
	}
}
