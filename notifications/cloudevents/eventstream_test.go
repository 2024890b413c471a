package cloudevents_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

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
	f := newFixture(t, cloudevents.Sink{Type: "http", URL: sink.URL, Headers: map[string]string{"X-Key": "secret"}})
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
	f := newFixture(t, cloudevents.Sink{Type: "http", URL: sink.URL})
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
	f := newFixture(t, cloudevents.Sink{Type: "http", URL: sink.URL})
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
	f := newFixture(t, cloudevents.Sink{Type: "http", URL: "http://localhost"})
	quiet := store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{Pool: f.pool, Logger: zerolog.Nop(), Replica: "quiet"})
	require.NoError(t, quiet.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, quiet.Stop(context.WithoutCancel(t.Context()))) })
	f.writer = quiet
	f.run("quiet")
	var left int
	require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM event_backlog`).Scan(&left))
	require.Zero(t, left)
}

// TestConfigurationsThatAreRefused name the field.
func TestConfigurationsThatAreRefused(t *testing.T) {
	valid := cloudevents.Sink{Name: "a", Type: "http", URL: "https://example.com"}
	pubsub := func(url string) func(*cloudevents.Config) {
		return func(c *cloudevents.Config) { c.Sinks[0] = cloudevents.Sink{Name: "a", Type: "pubsub", URL: url} }
	}
	for words, change := range map[string]func(*cloudevents.Config){
		"sinks[1].name": func(c *cloudevents.Config) { c.Sinks = append(c.Sinks, valid) },
		"sinks[0].name": func(c *cloudevents.Config) { c.Sinks[0].Name = "A" },
		`sinks[0].events[1]: must be runs or audit, got "logs"`: func(c *cloudevents.Config) { c.Sinks[0].Events = []string{"audit", "logs"} },
		"sinks[0].type": func(c *cloudevents.Config) { c.Sinks[0].Type = "pigeon" },
		"sinks[0].url":  func(c *cloudevents.Config) { c.Sinks[0].URL = "ftp://x" },
		"sinks[0].subject": func(c *cloudevents.Config) {
			c.Sinks[0] = cloudevents.Sink{Name: "a", Type: "nats", URL: "nats://x:1", Subject: "a.>"}
		},
		"sinks[0].brokers": func(c *cloudevents.Config) { c.Sinks[0] = cloudevents.Sink{Name: "a", Type: "kafka"} },
		"sinks[0].topic": func(c *cloudevents.Config) {
			c.Sinks[0] = cloudevents.Sink{Name: "a", Type: "kafka", Brokers: []string{"b"}}
		},
		"sinks[0].tls": func(c *cloudevents.Config) {
			c.Sinks[0] = cloudevents.Sink{Name: "a", Type: "kafka", Brokers: []string{"b"}, Topic: "t", Password: "x"}
		},
		"sinks[0].url: must be awssns":                           pubsub("awssns:///arn:aws:sqs:eu-west-1:1:x?region=eu-west-1"),
		"gcppubsub://projects":                                   pubsub("gcppubsub://shop/flyte"),
		"sinks[0].url: must have a region":                       pubsub("awssqs://sqs.eu-west-1.amazonaws.com/1/q"),
		`sinks[0].url: has the unknown parameter "key"`:          pubsub("awssqs://sqs.eu-west-1.amazonaws.com/1/q?region=x&key=hidden"),
		"sinks[0].url: must have no user or password":            pubsub("awssqs://hidden:hidden@host/1/q?region=x"),
		`the unknown parameter "region"; gcppubsub has endpoint`: pubsub("gcppubsub://projects/p/topics/t?region=x"),
		"sinks[0].username": func(c *cloudevents.Config) {
			c.Sinks[0] = cloudevents.Sink{Name: "a", Type: "pubsub", URL: "gcppubsub://projects/p/topics/t", Password: "hidden"}
		},
		"sinks[0].caFile": func(c *cloudevents.Config) {
			c.Sinks[0] = cloudevents.Sink{Name: "a", Type: "pubsub", URL: "gcppubsub://projects/p/topics/t", CAFile: "x"}
		},
		"source": func(c *cloudevents.Config) { c.Source = "" },
		"batch":  func(c *cloudevents.Config) { c.Batch = 0 },
		"keep":   func(c *cloudevents.Config) { c.Keep = 0 },
		"lease":  func(c *cloudevents.Config) { c.Lease = 0 },
	} {
		config := cloudevents.DefaultConfig()
		config.Sinks = []cloudevents.Sink{valid}
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), words)
		require.NotContains(t, config.Validate().Error(), "hidden")
	}
}
