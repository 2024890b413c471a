package cloudevents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
	runsstore "github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// auditLog is the record of what was done, as the manager passes it.
type auditLog struct{ *store.Store }

func (l auditLog) After(ctx context.Context, number int64, limit int) ([]cloudevents.AuditEvent, error) {
	rows, err := l.SearchAudit(ctx, store.AuditFilter{OldestFirst: true, After: number, Limit: limit})
	var found []cloudevents.AuditEvent
	for _, row := range rows {
		data, _ := audit.JSON(row)
		found = append(found, cloudevents.AuditEvent{Number: row.Sequence, At: row.At, Subject: row.Resources[0], Data: data})
	}
	return found, err
}

func (l auditLog) Position(ctx context.Context, sink string) (int64, error) {
	return l.AuditPosition(ctx, sink)
}

func (l auditLog) Move(ctx context.Context, sink string, number int64) error {
	return l.MoveAuditPosition(ctx, sink, number)
}

func (l auditLog) Oldest(ctx context.Context, sink string) (time.Time, error) {
	_, oldest, err := l.AuditWaiting(ctx, sink, 1)
	return oldest, err
}

// record is a record of what was done, and the service on the same database.
type record struct {
	t      *testing.T
	store  *store.Store
	list   *worklists.Unpublished
	leases func() *pgdb.Leases
	config cloudevents.Config
}

func newRecord(t *testing.T, url string) *record {
	pool := pgtest.Schemas(t, runsstore.Schema(), store.Schema())
	config := cloudevents.DefaultConfig()
	config.Sinks = []cloudevents.Sink{{Name: "siem", Type: "http", URL: url, Events: []string{"audit"}}}
	config.Batch, config.Poll, config.Timeout = 7, 10*time.Millisecond, 5*time.Second
	config.Backoff.First, config.Backoff.Max = 10*time.Millisecond, 50*time.Millisecond
	replica := 0
	leases := func() *pgdb.Leases {
		replica++
		return pgdb.NewLeases(pool, clock.System{}, fmt.Sprint("replica ", replica))
	}
	return &record{t: t, store: store.New(pool, clock.System{}), list: worklists.NewUnpublished(pool), leases: leases, config: config}
}

// add records some events.
func (r *record) add(count int) {
	r.t.Helper()
	ends := make([]store.AuditEnd, count)
	for i := range ends {
		ends[i].Event = store.AuditEvent{
			At: clock.System{}.Now(), Kind: "user", Subject: "ada", Peer: "10.0.0.7", UserAgent: "flyte-sdk", Procedure: "/x.RunService/CreateRun",
			Permission: "run.create", Resources: []string{fmt.Sprint("run p/d/r", i)}, Project: "p", Domain: "d", Outcome: "succeeded", RequestID: "id",
		}
	}
	require.NoError(r.t, r.store.AppendAudit(r.t.Context(), ends, audit.Seal))
}

// begin starts the service, as a process that starts does. The function stops it.
func (r *record) begin() (stop func()) {
	r.t.Helper()
	s, err := cloudevents.New(r.config, cloudevents.Deps{Backlog: backlog{r.list}, Audit: auditLog{r.store}, Leases: r.leases(), Logger: zerolog.Nop()})
	require.NoError(r.t, err)
	require.NoError(r.t, s.Start(r.t.Context()))
	stop = sync.OnceFunc(func() { require.NoError(r.t, s.Stop(context.WithoutCancel(r.t.Context()))) })
	r.t.Cleanup(stop)
	return stop
}

// auditReceiver is a receiver of audit events that can be away.
type auditReceiver struct {
	t *testing.T

	mu    sync.Mutex
	away  bool // GUARDED_BY(mu)
	order []int64
	last  map[string]any
	// hold is closed by a request whose answer is lost; nil if none is.
	hold chan struct{}
}

func (r *auditReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	var event struct {
		SpecVersion, ID, Source, Type, Subject, PartitionKey, Sequence string
		Time                                                           time.Time
		Data                                                           map[string]any
	}
	if err := json.Unmarshal(body, &event); err != nil {
		r.t.Errorf("%s: %v", body, err)
		return
	}
	number := int64(event.Data["sequence"].(float64))
	switch {
	case request.Header.Get("Content-Type") != "application/cloudevents+json", request.Header.Get("Idempotency-Key") != event.ID,
		event.SpecVersion != "1.0", event.Source != "/flyte-binary", event.Type != "org.flyte.audit", event.ID != fmt.Sprint("audit-", number),
		event.Sequence != fmt.Sprintf("%019d", number), event.PartitionKey != "audit", event.Time.IsZero(), event.Subject == "":
		r.t.Errorf("not the event of an audit event: %v %s", request.Header, body)
	}
	r.order, r.last = append(r.order, number), event.Data
	if r.hold != nil {
		close(r.hold)
		r.hold = nil
		r.mu.Unlock()
		<-request.Context().Done()
		r.mu.Lock()
	}
}

// has waits until the receiver has every event from first to last: in order, where repetitions are left out.
func (r *auditReceiver) has(first, last int64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		next := first
		for _, number := range r.order {
			switch {
			case number > next:
				r.t.Errorf("an event overtook another: %v", r.order)
				return true
			case number == next:
				next++
			}
		}
		return next == last+1
	}, 30*time.Second, 10*time.Millisecond)
}

func (r *auditReceiver) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// TestAuditEventsArriveOnceOrMoreInOrder: a receiver that is away, and one whose answer is lost with the process that sent the event, gets
// each event from the first start on.
func TestAuditEventsArriveOnceOrMoreInOrder(t *testing.T) {
	receiver := &auditReceiver{t: t}
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	r := newRecord(t, server.URL)
	r.add(5) // before there was a sink: for these there is the export
	stop := r.begin()
	require.Eventually(t, func() bool { // the sink is known from now on
		_, err := r.store.AuditPosition(t.Context(), "siem")
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	r.add(10)
	receiver.has(6, 15)
	require.Equal(t, map[string]any{
		"sequence": 15.0, "at": receiver.last["at"], "kind": "user", "subject": "ada", "peer": "10.0.0.7", "userAgent": "flyte-sdk", "requestId": "id",
		"procedure": "/x.RunService/CreateRun", "permission": "run.create", "resources": []any{"run p/d/r9"}, "project": "p", "domain": "d",
		"outcome": "succeeded", "hash": receiver.last["hash"],
	}, receiver.last)

	receiver.set(func() { receiver.away = true })
	r.add(20)
	require.Eventually(t, func() bool {
		count, oldest, err := r.store.AuditWaiting(t.Context(), "siem", 100)
		return err == nil && count == 20 && !oldest.IsZero()
	}, 30*time.Second, 10*time.Millisecond)
	stop()
	lost := make(chan struct{})
	receiver.set(func() { receiver.away, receiver.hold = false, lost })
	stop = r.begin()
	<-lost // the receiver has the event, and the process ends without the answer
	stop()
	r.add(3)
	r.begin()
	receiver.has(6, 38)
	require.Greater(t, len(receiver.order), 33, "at least once")
	require.Eventually(t, func() bool {
		count, _, err := r.store.AuditWaiting(t.Context(), "siem", 100)
		return err == nil && count == 0
	}, 30*time.Second, 10*time.Millisecond)
}

// TestAuditEventsThatRetentionDeletedAreSkipped: a sink that was away for longer than events are kept continues with those that are left.
func TestAuditEventsThatRetentionDeletedAreSkipped(t *testing.T) {
	receiver := &auditReceiver{t: t}
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	r := newRecord(t, server.URL)
	_, err := r.store.AuditPosition(t.Context(), "siem")
	require.NoError(t, err)
	r.add(10)
	removed, err := r.store.TrimAudit(t.Context(), time.Now().Add(time.Hour), 4)
	require.NoError(t, err)
	require.Equal(t, 4, removed)
	r.begin()
	receiver.has(5, 10)
}
